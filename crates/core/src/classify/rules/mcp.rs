//! Model Context Protocol and JSON-RPC.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{
    BadOutput, Cancelled, InvalidRequest, NetworkTransient, ProcessDied, ServerError, StateLost, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    rule("mcp.closed", ProcessDied)
        .decisive()
        .text(&[
            r"\berror in mcp: client closed\b",
            r"\bmcp\b~\b(?:client|server|transport|connection) (?:has been |was |is )?closed\b",

            "mcperror: connection closed",
            r"mcp\S{0,20}: connection closed",
            "32000: connection closed",
            r"mcp server (?:\S{1,40} )?(?:process )?(?:exited|disconnected|closed|crashed|died|terminated|transport (?:dropped|closed))",
            "server transport closed",
        ])
        .example("McpError: MCP error -32000: Connection closed"),
    rule("mcp.timeout", Timeout)
        .decisive()
        .text(&["32001: (?:request )?timed out"])
        .example("McpError: MCP error -32001: Request timed out"),
    rule("mcp.session", StateLost)
        .decisive()
        .text(&[
            "session not found",
            "no valid session id provided",
            "mcp-session-id header is required",
            "server not initialized",
            "received request before initialization was complete",
        ])
        .example(r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"}}"#),
    rule("mcp.method", InvalidRequest)
        .decisive()
        .text(&[r"32601\b"])
        .example("MCP error -32601: Method not found"),
    rule("mcp.params", InvalidRequest)
        .decisive()
        .text(&[r"32602\b"])
        .example("MCP error -32602: Invalid arguments for tool slow"),
    rule("mcp.request", InvalidRequest)
        .hint()
        .text(&[r"32600\b"])
        .example("MCP error -32600"),
    rule("mcp.parse", BadOutput)
        .text(&[r"32700\b"])
        .example(r#"{"error":{"code":-32700,"message":"Parse error"}}"#),
    rule("mcp.internal", ServerError)
        .hint()
        .text(&[r"32603\b"])
        .example("MCP error -32603"),
    rule("mcp.resource", StateLost)
        .text(&[r"32002\b~not found"])
        .example("MCP error -32002: Resource not found"),
    rule("mcp.not_connected", NetworkTransient)
        .text(&["^(?:error: )?not connected$", "mcp server~not connected"])
        .example("Error: Not connected"),
    rule("mcp.cancelled", Cancelled)
        .text(&[r"32800\b"])
        .example(r#"{"code":-32800,"message":"Request cancelled"}"#),
    rule("mcp.accept", InvalidRequest)
        .decisive()
        .text(&["client must accept"])
        .example("Not Acceptable: Client must accept both application/json and text/event-stream"),
    rule("mcp.spawn", ProcessDied)
        .text(&["failed to (?:start|spawn|launch) mcp server", "mcp server failed to start"])
        .example("MCP server failed to start"),
];
