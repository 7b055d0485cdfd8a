//! Error numbers of the operating system, as every language prints them.

use crate::classify::rule::{Rule, connection, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{Cancelled, NetworkPermanent, NetworkTransient, ProcessDied, Timeout, Unknown};

pub(super) const RULES: &[Rule] = &[
    connection("posix.ECONNREFUSED", NetworkTransient)
        .code(&["ECONNREFUSED", "WSAECONNREFUSED", "ConnectionRefusedError"])
        .text(&[r"\berrno 111\b", r"os error (?:111|61|10061)\)", r"\b(?:errno|error) 10061\b"])
        .example("connect ECONNREFUSED 127.0.0.1:443"),
    connection("posix.ECONNRESET", NetworkTransient)
        .code(&[
            "ECONNRESET",
            "ECONNABORTED",
            "WSAECONNRESET",
            "ConnectionResetError",
            "ConnectionAbortedError",
            "ENOTCONN",
            "ENETRESET",
        ])
        .text(&[r"\berrno (?:104|54|103)\b", r"os error (?:104|54|103|10053|10054)\)", r"\b(?:errno|error) 1005[34]\b"])
        .example("read ECONNRESET"),
    connection("posix.EPIPE", NetworkTransient)
        .on(Surface::Process, ProcessDied)
        .code(&["EPIPE", "BrokenPipeError", "ERR_STREAM_WRITE_AFTER_END"])
        .text(&[r"os error 32\)", r"\berrno 32\b"])
        .example("write EPIPE"),
    rule("posix.EHOSTUNREACH", NetworkTransient)
        .code(&["EHOSTUNREACH", "ENETUNREACH", "ENETDOWN", "EHOSTDOWN", "EADDRNOTAVAIL", "ENONET"])
        .text(&[r"\berrno (?:101|113|51|65|99)\b", r"os error (?:101|113|51|65|99|10051|10065)\)"])
        .example("connect EHOSTUNREACH 10.0.0.1:443"),
    connection("posix.ETIMEDOUT", Timeout)
        .code(&["ETIMEDOUT", "ESOCKETTIMEDOUT", "ECONNTIMEDOUT", "WSAETIMEDOUT", "ETIME"])
        .text(&[r"\berrno (?:110|60)\b", r"os error (?:110|60|10060)\)", r"\b(?:errno|error) 10060\b"])
        .example("connect ETIMEDOUT 10.0.0.1:443"),
    rule("posix.EAI_AGAIN", NetworkTransient)
        .decisive()
        .code(&["EAI_AGAIN", "EAI_FAIL", "ETIMEOUT", "ESERVFAIL", "EREFUSED"])
        .text(&[r"\berrno -3\b"])
        .example("getaddrinfo EAI_AGAIN api.openai.com"),
    rule("posix.ENOTFOUND", NetworkPermanent)
        .decisive()
        .code(&["ENOTFOUND", "EAI_NONAME", "EAI_NODATA", "ENODATA", "EAI_ADDRFAMILY", "EAI_SERVICE"])
        .text(&[r"\berrno (?:-2|-5|11001)\b", r"\berrno 8\]? nodename", r"\b(?:errno|error) 11001\b"])
        .not(&["NameResolutionError: Failed to resolve 'x' ([Errno -3] Temporary failure in name resolution)"])
        .example("getaddrinfo ENOTFOUND api.no-such.test"),
    rule("posix.EPROTO", NetworkPermanent)
        .decisive()
        .code(&["EPROTO", "EPROTONOSUPPORT", "EAFNOSUPPORT", "EPFNOSUPPORT", "EINVALIDURL"])
        .text(&[
            r"\b(?:address|protocol) family (?:for hostname )?not supported\b",
            r"\bservname not supported for ai_socktype\b|\bai_(?:family|socktype|flags) not supported\b|\bbad value for ai_flags\b",
            r"\bos error (?:92|93|94|96|97|10043|10047)\)",
        ])
        .example("write EPROTO 139:SSL routines:ssl3_get_record:wrong version number"),
    rule("posix.ENOENT_spawn", ProcessDied)
        .decisive()
        .text(&[
            r"\bspawn~\b(?:enoent|eacces|eagain|enomem|e2big|unknown)\b",
            r"\benoent\b~\buv_spawn\b",
            r"\buv_spawn\b",
            r"\bspawn failed\b",
            r"no such file or directory: \S{0,3}[\w./-]{1,60}\S{0,2}$",
        ])
        .example("Error: spawn claude ENOENT"),
    rule("posix.ENOMEM", ProcessDied)
        .code(&["ENOMEM"])
        .text(&["cannot allocate memory", r"os error 12\)", r"\berrno 12\b"])
        .example("Cannot allocate memory (os error 12)"),
    rule("posix.EMFILE", ProcessDied)
        .code(&["EMFILE", "ENFILE"])
        .text(&["too many open files"])
        .example("accept: Too many open files (os error 24)"),
    rule("posix.ENOSPC", Unknown)
        .code(&["ENOSPC"])
        .text(&["no space left on device"])
        .example("ENOSPC: no space left on device"),
    rule("posix.EACCES_file", Unknown)
        .decisive()
        .text(&[
            r"\beacces: (?:permission denied|forbidden)",
            r"\beperm: operation not permitted",
            r"permission denied \(os error 13\)",
            r"\berrno 13\b",
        ])
        .example("EACCES: permission denied, open /etc/hosts"),
    rule("posix.ESRCH", ProcessDied)
        .code(&["ESRCH", "ProcessLookupError", "ECHILD"])
        .text(&[r"\bno such process\b"])
        .example("kill: (4000000) - No such process"),
    rule("posix.ECANCELED", Cancelled).text(&[r"os error 125\)"]).example("Operation canceled (os error 125)"),
    // Windows says the same with names of its own.
    connection("windows.network", NetworkTransient)
        .code(&[
            "WSAEHOSTUNREACH",
            "WSAENETUNREACH",
            "WSAENETDOWN",
            "WSAEHOSTDOWN",
            "WSAECONNABORTED",
            "WSAENETRESET",
            "WSAENOTCONN",
            "WSAESHUTDOWN",
            "WSAENOBUFS",
            "WSATRY_AGAIN",
            "ERROR_WINHTTP_CANNOT_CONNECT",
            "ERROR_WINHTTP_CONNECTION_ERROR",
            "ERROR_INTERNET_CANNOT_CONNECT",
            "ERROR_INTERNET_CONNECTION_ABORTED",
            "ERROR_INTERNET_CONNECTION_RESET",
            "ERROR_INTERNET_DISCONNECTED",
            "ERROR_NETNAME_DELETED",
            "ERROR_CONNECTION_REFUSED",
            "ERROR_CONNECTION_ABORTED",
            "ERROR_NETWORK_UNREACHABLE",
            "ERROR_HOST_UNREACHABLE",
        ])
        .text(&[
            r"\bspecified network name is no longer available\b",
            r"\bsoftware caused connection abort\b",
            r"\bhost is down\b",
        ])
        .example("WSAEHOSTUNREACH"),
    connection("windows.timeout", Timeout)
        .code(&["ERROR_WINHTTP_TIMEOUT", "ERROR_INTERNET_TIMEOUT", "ERROR_SEM_TIMEOUT", "WAIT_TIMEOUT"])
        .example("ERROR_WINHTTP_TIMEOUT"),
    rule("windows.permanent", NetworkPermanent)
        .decisive()
        .code(&[
            "WSAHOST_NOT_FOUND",
            "WSANO_DATA",
            "WSANO_RECOVERY",
            "ERROR_WINHTTP_NAME_NOT_RESOLVED",
            "ERROR_WINHTTP_SECURE_FAILURE",
            "ERROR_WINHTTP_INVALID_URL",
            "ERROR_INTERNET_NAME_NOT_RESOLVED",
            "ERROR_INTERNET_INVALID_CA",
            "ERROR_INTERNET_SEC_CERT_DATE_INVALID",
            "ERROR_INTERNET_SEC_CERT_CN_INVALID",
            "ERROR_INTERNET_SECURITY_CHANNEL_ERROR",
            "CERT_E_UNTRUSTEDROOT",
            "CERT_E_EXPIRED",
            "CERT_E_CHAINING",
            "CERT_E_CN_NO_MATCH",
            "SEC_E_UNTRUSTED_ROOT",
            "SEC_E_WRONG_PRINCIPAL",
            "SEC_E_CERT_EXPIRED",
            "SEC_E_ILLEGAL_MESSAGE",
        ])
        .example("CERT_E_UNTRUSTEDROOT"),
];
