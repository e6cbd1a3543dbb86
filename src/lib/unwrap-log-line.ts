/** Log line of a Go program: `time="2026-11-18T15:04:47Z" level=error msg="runc create failed: exec: \"x\": not found"`. */
const logLine = /time="[^"]*" level=\w+ msg="((?:[^"\\]|\\.)*)"/g;

/**
 * Replaces log lines in a message by their text. CRI-O reports the log of its OCI runtime, in which the time of each attempt
 * is different and quotes are escaped.
 */
export function unwrapLogLine(text: string): string {
  if (!text.includes('time="')) return text;
  return text.replace(logLine, (_, escaped: string) => escaped.replaceAll(/\\(["\\])/g, "$1")).trimEnd();
}
