import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { makeTemporaryFolder } from "../support/files/temporary-folder.ts";
import { type ServerProcess, startServerProcess } from "../support/servers/server-process.ts";
import { openUnread } from "../support/servers/unread-client.ts";
import { slowTest } from "../support/vitest/slow.ts";

const path = "/api/v1/namespaces/default/configmaps";

/** Server in a separate process, so that only its memory is measured, with objects of one megabyte. */
async function startFilled(objects: number): Promise<ServerProcess> {
  const folder = makeTemporaryFolder();
  const server = await startServerProcess([
    ...["--data-dir", folder.path, "--listen", "127.0.0.1:0", "--store", "memory"],
  ]);
  onTestFinished(async () => {
    server.disconnect();
    server.kill("SIGKILL");
    await server.exit;
    folder.remove();
  });
  const data = { filler: "x".repeat(1_000_000) };
  for (let i = 0; i < objects; i++) await server.json("POST", path, { metadata: { name: `c${i}` }, data });
  return server;
}

function residentMegabytes({ pid }: ServerProcess): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_000;
}

test("80 unread lists of 20 MB use less memory than ten lists", async () => {
  const server = await startFilled(20);
  await server.json("GET", path);
  const before = residentMegabytes(server);
  await openUnread(server, path, 80);
  // Each with its own copy they would take 1,600 MB.
  expect(residentMegabytes(server) - before).toBeLessThan(200);
});

slowTest("300 unread watches of 4 MB take less memory than forty of them would", async () => {
  const server = await startFilled(4);
  const before = residentMegabytes(server);
  await openUnread(server, `${path}?watch=true`, 300);
  // Each with its own copy of what it may leave unread, a megabyte, they would take 300 MB.
  expect(residentMegabytes(server) - before).toBeLessThan(160);
});
