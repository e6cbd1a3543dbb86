import { CST, type Document, isMap, isNode, isScalar, isSeq, Lexer, LineCounter, parseDocument } from "yaml";
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
  return readYaml(text).json;
}

/**
 * Converts a YAML document to JSON text. `duplicates` are the keys that a map contains more than once, in the words of
 * upstream's parser: `line 9: key "foo" already set in map`.
 */
export function readYaml(text: string): { readonly json: string; readonly duplicates: readonly string[] } {
  checkSize(text);
  try {
    const lineCounter = new LineCounter();
    // Checking for equal keys and pretty errors take quadratic time.
    const document = parseDocument(text, {
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "error",
      lineCounter,
    });
    const [error] = document.errors;
    if (error) throw error;
    // A few lines of aliases can expand to gigabytes.
    const json = JSON.stringify(document.toJS({ maxAliasCount: 100 }) ?? null);
    return { json, duplicates: findDuplicates(document, lineCounter) };
  } catch (error) {
    throw refused(messageOf(error));
  }
}

/** Lists keys in the order of upstream: those in a value come before the key of the value. */
function findDuplicates({ contents }: Document, lines: LineCounter): string[] {
  const found: string[] = [];
  collect(contents);
  return found;

  function collect(node: unknown): void {
    if (isSeq(node)) for (const item of node.items) collect(item);
    if (!isMap(node)) return;
    const keys = new Set<unknown>();
    for (const { key, value } of node.items) {
      collect(value);
      if (!isScalar(key)) continue;
      // The line is that of the value.
      const [offset = 0] = (isNode(value) ? value.range : key.range) ?? [];
      if (keys.has(key.value))
        found.push(`line ${lines.linePos(offset).line}: key ${JSON.stringify(key.value)} already set in map`);
      keys.add(key.value);
    }
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
