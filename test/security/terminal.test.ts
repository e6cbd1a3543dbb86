import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { formatTable, printable } from "../../src/cli/printer/terminal-text.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import { formatLogLine } from "../../src/lib/logger.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

/** Clears the screen, sets the title, colours by the one-byte introducer, deletes, turns the order of letters. */
const hostile = "\x1b[2J\x1b]0;title\x07\u009b31m\x7f\u202e\u2066words\u2069";
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const obeyed = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

const folder = temporaryFolder();
afterEach(() => vi.restoreAllMocks());

test("control characters of a pod do not reach the terminal", () => {
  expect(printable(hostile)).not.toMatch(obeyed);
  expect(printable(`a\n\t${hostile}`)).toContain("a\n\t");
  expect(formatTable(["NAME"], [[printable(hostile)]])).not.toMatch(obeyed);
});

test("nor the log", () => {
  const fields = { level: "info", time: "2026-01-01T00:00:00.000Z", msg: "said", text: hostile };
  const line = formatLogLine(JSON.stringify({ ...fields, error: { message: hostile } }));
  expect(line).toContain("words");
  expect(line.trimEnd()).not.toMatch(obeyed);
});

test("nor an error message that quotes a server", async () => {
  const server = createServer((_, response) => {
    const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", code: 403 };
    response.writeHead(403, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...status, message: hostile }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const kubeconfig = join(folder, "kubeconfig");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: url } }],
      users: [{ name: "u", user: {} }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  const code = await runCli(["why", "pod", "--kubeconfig", kubeconfig]);
  server.closeAllConnections();
  server.close();
  const text = said.mock.calls.flat().join("\n");
  expect({ code, text }).toEqual({ code: 1, text: expect.stringContaining("words") });
  expect(text).not.toMatch(obeyed);
});
