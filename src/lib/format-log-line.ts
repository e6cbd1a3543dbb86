/** One JSON log line as a person reads it: `12:00:00.000 INFO  apiserver  listening  port=6443`. */
export function formatLogLine(line: string): string {
  const { time, level, component, msg, error, ...fields } = JSON.parse(line);
  const clock = String(time).slice(11, 23);
  const details = Object.entries(fields).map(([name, value]) => `${name}=${formatValue(value)}`);
  const parts = [
    `${clock} ${String(level).toUpperCase().padEnd(5)}`,
    component,
    msg,
    ...details,
    formatError(error),
  ];
  return `${parts.filter(Boolean).join("  ")}\n`;
}

function formatValue(value: unknown): string {
  if (typeof value === "string" && /^[\w./:@-]+$/.test(value)) return value;
  // JSON escapes only the first 32 of what a terminal obeys; words of a pod or a registry may be in it.
  return (JSON.stringify(value) ?? "").replace(
    /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function formatError(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null)
    return error === undefined ? undefined : `error=${formatValue(error)}`;
  const message = "message" in error ? error.message : error;
  return `error=${formatValue(message)}`;
}
