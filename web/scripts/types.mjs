// Writes the types of the control API: `node scripts/types.mjs openapi.json > src/lib/schema.ts`.
// Small because the document is: objects, lists, maps, enumerations and references are all that it uses.
import { readFileSync } from "node:fs";

const document = JSON.parse(readFileSync(process.argv[2] ?? 0, "utf8"));

/** The type of a schema, written at this depth. */
function type(schema, depth = 1) {
  if (schema === true || schema === undefined) return "unknown";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.allOf) return schema.allOf.map((one) => type(one, depth)).join(" & ");
  const either = schema.oneOf ?? schema.anyOf;
  if (either) return [...new Set(either.map((one) => type(one, depth)))].join(" | ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((one) => type({ ...schema, type: one }, depth)).join(" | ");
  }
  switch (schema.type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return `Array<${type(schema.items, depth)}>`;
    case "object":
      return object(schema, depth);
    default:
      return "unknown";
  }
}

function object(schema, depth) {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) {
    return schema.additionalProperties ? `Record<string, ${type(schema.additionalProperties, depth)}>` : "Record<string, unknown>";
  }
  const indent = "  ".repeat(depth);
  const lines = fields.map(([name, field]) => {
    const mark = schema.required?.includes(name) ? "" : "?";
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
    return `${comment(field.description, indent)}${indent}${key}${mark}: ${type(field, depth + 1)};\n`;
  });
  return `{\n${lines.join("")}${"  ".repeat(depth - 1)}}`;
}

function comment(text, indent) {
  return text ? `${indent}/** ${text.replaceAll("\n", ` `).replaceAll("*/", "* /")} */\n` : "";
}

const schemas = Object.entries(document.components?.schemas ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
const types = schemas.map(([name, schema]) => `${comment(schema.description, "")}export type ${name} = ${type(schema)};\n`);
process.stdout.write(`// Written by scripts/types.mjs from GET /api/openapi.json; \`cargo xtask web types\` writes it anew.\n\n${types.join("\n")}`);
