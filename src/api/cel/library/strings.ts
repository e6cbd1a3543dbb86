import { type FunctionDeclaration, fn, type Implementation, member } from "../functions.ts";
import { compileRegex } from "../regex.ts";
import { CelError, type CelList, list, type Value } from "../values.ts";
import { formatString } from "./format-string.ts";

function outOfRange(index: bigint): CelError {
  return new CelError(`index out of range: ${index}`);
}

function charAt([text, at]: readonly Value[]): Value {
  const characters = [...(text as string)];
  const index = at as bigint;
  if (index < 0n || index > characters.length) return outOfRange(index);
  return characters[Number(index)] ?? "";
}

/** Code points before a UTF-16 offset. */
function toCodePoints(text: string, offset: number): bigint {
  return offset < 0 ? -1n : BigInt([...text.slice(0, offset)].length);
}

function indexOf([text, part, from = 0n]: readonly Value[]): Value {
  const [source, searched, offset] = [text as string, part as string, from as bigint];
  if (searched === "") return offset;
  if (offset < 0n) return outOfRange(offset);
  const start = [...source].slice(0, Number(offset)).join("").length;
  return toCodePoints(source, source.indexOf(searched, start));
}

function lastIndexOf([text, part, from]: readonly Value[]): Value {
  const [source, searched] = [text as string, part as string];
  const characters = [...source];
  if (searched === "") return (from as bigint | undefined) ?? BigInt(characters.length);
  const offset = (from as bigint | undefined) ?? BigInt(characters.length - 1);
  if (from === undefined && source.length < searched.length) return -1n;
  if (offset < 0n) return outOfRange(offset);
  if (offset >= characters.length) return -1n;
  const start = characters.slice(0, Number(offset)).join("").length;
  return toCodePoints(source, source.lastIndexOf(searched, start));
}

function substring([text, from, to]: readonly Value[]): Value {
  const characters = [...(text as string)];
  const start = from as bigint;
  const end = (to as bigint | undefined) ?? BigInt(characters.length);
  if (to !== undefined && start > end)
    return new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  if (start < 0n || start > characters.length) return outOfRange(start);
  if (end < 0n || end > characters.length) return outOfRange(end);
  return characters.slice(Number(start), Number(end)).join("");
}

/** Splits as Go: an empty separator splits into characters; the last part has the rest. */
function splitText(text: string, separator: string, limit: bigint): string[] {
  if (limit === 0n) return [];
  const parts = separator === "" ? [...text] : text.split(separator);
  if (limit < 0n || parts.length <= limit) return parts;
  const count = Number(limit) - 1;
  return [...parts.slice(0, count), parts.slice(count).join(separator)];
}

function replace(
  [text, old, next, count = -1n]: readonly Value[],
  meter: { spend(steps: number): void },
): Value {
  const [source, searched, replacement] = [text as string, old as string, next as string];
  const limit = count as bigint;
  if (limit === 0n || searched === replacement) return source;
  // An empty text is found before each character and at the end.
  const parts = searched === "" ? ["", ...[...source]] : source.split(searched);
  const pieces = searched === "" && source !== "" ? [...parts, ""] : parts;
  const replaced = limit < 0n ? pieces.length - 1 : Math.min(Number(limit), pieces.length - 1);
  meter.spend(source.length + replaced * replacement.length);
  let result = pieces[0] ?? "";
  for (let i = 1; i < pieces.length; i++) result += (i <= replaced ? replacement : searched) + pieces[i];
  return result;
}

const quotes: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

function join([items, separator = ""]: readonly Value[], meter: { spend(steps: number): void }): Value {
  const texts: string[] = [];
  for (const item of (items as CelList).values()) {
    if (typeof item !== "string")
      return item instanceof CelError ? item : new CelError("join: invalid input");
    meter.spend(1 + item.length + (separator as string).length);
    texts.push(item);
  }
  return texts.join(separator as string);
}

/** Spaces that Go trims. */
const goSpace = "[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const leading = new RegExp(`^${goSpace}`);

function trim(text: string): string {
  let end = text.length;
  const isSpace = new RegExp(`^${goSpace}$`);
  while (end > 0 && isSpace.test(text.charAt(end - 1))) end--;
  return text.slice(0, end).replace(leading, "");
}

function find([text, pattern]: readonly Value[]): Value {
  const regex = compileRegex(pattern as string);
  if (typeof regex === "string") return new CelError(`Illegal regex: ${regex}`);
  const matcher = regex.matcher(text as string);
  return matcher.find() ? (matcher.group() ?? "") : "";
}

function findAll([text, pattern, limit = -1n]: readonly Value[]): Value {
  const regex = compileRegex(pattern as string);
  if (typeof regex === "string") return new CelError(`Illegal regex: ${regex}`);
  const matcher = regex.matcher(text as string);
  const found: string[] = [];
  const max = limit as bigint;
  while ((max < 0n || found.length < max) && matcher.find()) found.push(matcher.group() ?? "");
  return list(found);
}

const ofText =
  (compute: (text: string) => Value): Implementation =>
  ([text]) =>
    compute(text as string);

/** Extension of cel-go for strings in the version of Kubernetes, and Kubernetes' functions for regular expressions. */
export const stringFunctions: readonly FunctionDeclaration[] = [
  member("charAt", ["string_char_at_int", "string, int -> string", charAt]),
  member(
    "indexOf",
    ["string_index_of_string", "string, string -> int", indexOf],
    ["string_index_of_string_int", "string, string, int -> int", indexOf],
  ),
  member(
    "lastIndexOf",
    ["string_last_index_of_string", "string, string -> int", lastIndexOf],
    ["string_last_index_of_string_int", "string, string, int -> int", lastIndexOf],
  ),
  member("lowerAscii", [
    "string_lower_ascii",
    "string -> string",
    ofText((text) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase())),
  ]),
  member("upperAscii", [
    "string_upper_ascii",
    "string -> string",
    ofText((text) => text.replace(/[a-z]+/g, (part) => part.toUpperCase())),
  ]),
  member(
    "replace",
    ["string_replace_string_string", "string, string, string -> string", replace],
    ["string_replace_string_string_int", "string, string, string, int -> string", replace],
  ),
  member(
    "split",
    [
      "string_split_string",
      "string, string -> list(string)",
      ([text, separator]) => list(splitText(text as string, separator as string, -1n)),
    ],
    [
      "string_split_string_int",
      "string, string, int -> list(string)",
      ([text, separator, limit]) => list(splitText(text as string, separator as string, limit as bigint)),
    ],
  ),
  member(
    "substring",
    ["string_substring_int", "string, int -> string", substring],
    ["string_substring_int_int", "string, int, int -> string", substring],
  ),
  member("trim", ["string_trim", "string -> string", ofText(trim)]),
  member("format", [
    "string_format",
    "string, list(dyn) -> string",
    ([text, args]) => formatString(text as string, args as CelList),
  ]),
  fn("strings.quote", [
    "strings_quote",
    "string -> string",
    ofText((text) => `"${Array.from(text, (character) => quotes[character] ?? character).join("")}"`),
  ]),
  member(
    "join",
    ["list_join", "list(string) -> string", join],
    ["list_join_string", "list(string), string -> string", join],
  ),
  member("find", ["string_find_string", "string, string -> string", find]),
  member(
    "findAll",
    ["string_find_all_string", "string, string -> list(string)", findAll],
    ["string_find_all_string_int", "string, string, int -> list(string)", findAll],
  ),
];
