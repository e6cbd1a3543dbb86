import { CST, Lexer, parse } from "yaml";
import { badRequest } from "../../api/status-error.ts";
import { messageOf } from "../../lib/message-of.ts";

/**
 * The parser needs tens of microseconds a token, and nothing else runs meanwhile. A line has about six tokens, a text
 * block one: objects that people write are far below this.
 */
const maxTokens = 25_000;
/** The parser calls itself at each level; too deep, it would take the whole process with it. */
const maxDepth = 200;

/** A YAML document as JSON text. */
export function yamlToJson(text: string): string {
  checkSize(text);
  try {
    // A few lines of aliases can stand for gigabytes; looking for equal keys and showing errors in their context both
    // cost the square of the text's length.
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

/** Reads no more of the text than it takes to see that there is too much of it. */
function checkSize(text: string): void {
  let tokens = 0;
  let brackets = 0;
  /** Levels that the current line opens by itself: its indentation and the `- ` and `? ` in it. */
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
