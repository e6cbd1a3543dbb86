import { Transform, type TransformCallback } from "node:stream";

/** Where links of a backend lead. */
export interface LinkContext {
  /** Path of the proxy: `/api/v1/namespaces/a/pods/b/proxy`. */
  readonly prefix: string;
  /** Address of the backend, with its port. */
  readonly backendHost: string;
  /** Host header of the request. */
  readonly requestHost: string;
}

/**
 * Rewrites a link to the backend itself so that it leads through the proxy. Relative links and links to other hosts stay
 * unchanged.
 */
export function rewriteLink(link: string, { prefix, backendHost, requestHost }: LinkContext): string {
  const [origin = "", host = ""] = /^(?:[A-Za-z][A-Za-z0-9+.-]*:)?\/\/([^/?#]*)/.exec(link) ?? [];
  const path = link.slice(origin.length);
  const isOther = host !== "" && host !== backendHost && host !== requestHost;
  if (isOther || !path.startsWith("/")) return link;
  const kept = host !== "" && host === requestHost ? origin : "";
  return kept + (path.startsWith(prefix) ? path : prefix + path);
}

/** Attributes with a URL, by element. */
const urlAttributes: Readonly<Record<string, readonly string[]>> = {
  a: ["href"],
  applet: ["codebase"],
  area: ["href"],
  audio: ["src"],
  base: ["href"],
  blockquote: ["cite"],
  body: ["background"],
  button: ["formaction"],
  command: ["icon"],
  del: ["cite"],
  embed: ["src"],
  form: ["action"],
  frame: ["longdesc", "src"],
  head: ["profile"],
  html: ["manifest"],
  iframe: ["longdesc", "src"],
  img: ["longdesc", "src", "usemap"],
  input: ["src", "usemap", "formaction"],
  ins: ["cite"],
  link: ["href"],
  object: ["classid", "codebase", "data", "usemap"],
  q: ["cite"],
  script: ["src"],
  source: ["src"],
  video: ["poster", "src"],
};

/** Elements whose content is text. */
const textElements = new Set([
  "iframe",
  "noembed",
  "noframes",
  "noscript",
  "script",
  "style",
  "textarea",
  "title",
  "xmp",
]);

/** Limit of a tag or comment that is kept until its end. A longer one passes unchanged. */
const maxPendingLength = 8 * 1_024;

/** State of the scanner: between tags, or in an element whose content is text. */
type Position = { readonly in: "markup" } | { readonly in: "text"; readonly element: string };

/**
 * Rewrites the links in a stream of HTML. Everything else passes byte for byte: the text is read as latin1. At most one tag
 * is kept in memory.
 */
export function createLinkRewriter(context: LinkContext): Transform {
  let pending = "";
  let position: Position = { in: "markup" };

  /** Returns the length of the next piece and what is written for it. Undefined if it is incomplete. */
  function next(text: string): { length: number; output: string } | undefined {
    if (position.in === "text") {
      const end = text.toLowerCase().indexOf(`</${position.element}`);
      if (end === -1) return keepTail(text, position.element.length + 2);
      position = { in: "markup" };
      return { length: end, output: text.slice(0, end) };
    }
    const start = text.indexOf("<");
    if (start === -1) return { length: text.length, output: text };
    if (start > 0) return { length: start, output: text.slice(0, start) };
    if (text.length < 4) return undefined;
    if (text.startsWith("<!--")) return upTo(text, "-->");
    const name = /^<([A-Za-z][^\s/>]*)/.exec(text)?.[1]?.toLowerCase();
    if (name === undefined) return { length: 1, output: "<" };
    const length = tagLength(text);
    if (length === undefined) return undefined;
    const tag = text.slice(0, length);
    if (textElements.has(name) && !tag.endsWith("/>")) position = { in: "text", element: name };
    return { length, output: rewriteTag(tag, urlAttributes[name], context) };
  }

  function scan(): string {
    let output = "";
    while (pending !== "") {
      const piece = next(pending);
      if (!piece || (piece.length === 0 && position.in === "text")) break;
      output += piece.output;
      pending = pending.slice(piece.length);
    }
    if (pending.length <= maxPendingLength) return output;
    output += pending;
    pending = "";
    return output;
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      pending += chunk.toString("latin1");
      done(null, Buffer.from(scan(), "latin1"));
    },
    flush(done: TransformCallback) {
      done(null, Buffer.from(pending, "latin1"));
    },
  });
}

function upTo(text: string, end: string): { length: number; output: string } | undefined {
  const at = text.indexOf(end);
  return at === -1 ? undefined : { length: at + end.length, output: text.slice(0, at + end.length) };
}

/** Everything but the last characters, which may be the beginning of an end tag. */
function keepTail(text: string, tail: number): { length: number; output: string } | undefined {
  const length = Math.max(0, text.length - tail);
  return { length, output: text.slice(0, length) };
}

/** Length of the tag at the start, whose attribute values may contain `>`. Undefined if it is incomplete. */
function tagLength(text: string): number | undefined {
  let quote = "";
  for (let at = 1; at < text.length; at++) {
    const character = text[at] ?? "";
    if (quote) {
      if (character === quote) quote = "";
    } else if (character === ">") return at + 1;
    else if ((character === '"' || character === "'") && /=\s*$/.test(text.slice(Math.max(0, at - 8), at)))
      quote = character;
  }
  return undefined;
}

function rewriteTag(tag: string, names: readonly string[] | undefined, context: LinkContext): string {
  if (!names || !Object.hasOwn(urlAttributes, tagName(tag))) return tag;
  return tag.replace(
    /(\s)([^\s"'>/=]+)(\s*=\s*)(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g,
    (whole, space, name, equals, double, single, bare) => {
      if (!names.includes(name.toLowerCase())) return whole;
      const quote = double !== undefined ? '"' : single !== undefined ? "'" : "";
      const value = double ?? single ?? bare;
      return `${space}${name}${equals}${quote}${rewriteLink(value.trim(), context)}${quote}`;
    },
  );
}

function tagName(tag: string): string {
  return (/^<([A-Za-z][^\s/>]*)/.exec(tag)?.[1] ?? "").toLowerCase();
}
