import { CST, Lexer, parse } from "yaml";
import { badRequest } from "../../api/meta/status-error.ts";
import { messageOf } from "../../lib/message-of.ts";

/**
 * Maximum number of tokens. The parser takes tens of microseconds for each and blocks the event loop. A line has about
 * six tokens, a text block one: manifests are far below the limit.
 */
const maxTokens = 25_000;
/** Maximum nesting. The parser is recursive: deeper input would exhaust the stack. */
const maxDepth = 200;

/** Converts a YAML document to JSON text. */
export function yamlToJson(text: string): string {
  checkSize(text);
  try {
    // A few lines of aliases can expand to gigabytes; checking for equal keys and pretty errors take quadratic time.
    const value = parse(text, {
      maxAliasCount: 100,
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "error",
    });
    return JSON.stringify(value ?? null);
  } catch (error) {
    throw refused(messageOf(error));
  }
}

/** Rejects text that is too long or too deep, without reading the rest of it. */
function checkSize(text: string): void {
  let tokens = 0;
  let brackets = 0;
  /** Levels that the current line opens: its indentation and the `- ` and `? ` in it. */
  let opened = 0;
  let lineStart = true;
  for (const token of new Lexer().lex(text)) {
    if (++tokens > maxTokens) throw refused("it is too large; send it as JSON");
    switch (CST.tokenType(token)) {
      case "flow-map-start":
      case "flow-seq-start":
        brackets++;
        break;
      case "flow-map-end":
      case "flow-seq-end":
        brackets--;
        break;
      case "seq-item-ind":
      case "explicit-key-ind":
        opened++;
        break;
      case "newline":
        opened = 0;
        lineStart = true;
        continue;
      case "space":
        if (lineStart) opened += token.length;
        break;
    }
    lineStart = false;
    if (brackets + opened > maxDepth) throw refused("exceeded max depth");
  }
}

function refused(reason: string) {
  return badRequest(`error converting YAML to JSON: ${reason}`);
}
