/** What a server answered, as far as two servers can agree on it. */
export interface Comparable {
  readonly status: number;
  readonly warning: readonly string[];
  readonly body: unknown;
}

/** What each server makes up for itself. */
const ownFields = new Set(["uid", "resourceVersion", "creationTimestamp", "managedFields", "continue"]);

/**
 * Takes away what differs from server to server, and what we leave different on purpose:
 *
 * - Upstream writes `null`, `""`, `0` and `{}` for fields that Go cannot leave out; we leave them out.
 * - Where it shows a whole object in a message, it shows Go's names of the fields; we show the API's.
 * - Items of a list are without `kind` and `apiVersion` there.
 * - What is said of the entries of a map comes in another order each time, and some causes come twice.
 * - The columns of tables are described in words of ours.
 */
export function comparable(answer: {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}): Comparable {
  return {
    status: answer.status,
    warning: [answer.headers.warning ?? []].flat().flatMap((line) => line.split(/, (?=299 )/)),
    body: cleaned("", parse(answer.text)),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function cleaned(field: string, value: unknown): unknown {
  if (typeof value === "string") return cleanedText(field, value);
  if (Array.isArray(value))
    return field === "causes" ? causes(value) : value.map((item) => cleaned("", item));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .filter(([name]) => !ownFields.has(name))
    .map(([name, item]) => [name, name === "items" ? items(item) : cleaned(name, item)] as const)
    .filter(([name, item]) => !isZero(item) && !(name === "description" && "priority" in value));
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isZero(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === null || value === undefined || value === "" || value === 0 || value === false;
}

function items(list: unknown): unknown {
  if (!Array.isArray(list)) return list;
  return list.map(({ kind: _, apiVersion: __, ...item }) => cleaned("", item));
}

function causes(list: unknown[]): string[] {
  return [...new Set(list.map((cause) => JSON.stringify(cleaned("", cause))))].sort();
}

function cleanedText(field: string, text: string): string {
  // The message repeats the causes, in their order.
  if (field === "message" && /is invalid: \[/.test(text)) return text.slice(0, text.indexOf("["));
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME")
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID")
    .replace(/\bselfType\d*/g, "selfType")
    .replace(/^\d+s$/, "AGE")
    .replace(/kube-api-access-\w{5}/g, "kube-api-access")
    .replace(/\b10\.96\.\d+\.\d+/g, "IP")
    .replace(/((?:Invalid|Duplicate|Unsupported) value: )(?:[{[]|"\{).*?[}\]]"?: /gs, "$1OBJECT: ")
    .replace(/(Duplicate value: )\{.*\}$/, "$1OBJECT")
    .replace(
      /(are forbidden|are immutable|for bound claims|after creation|previously negative\))\n[\s\S]*/,
      "$1",
    )
    .replace(/(in record \(|resource version: |current: )\d+/g, "$1RV");
}
