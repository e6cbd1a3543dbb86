import { createServer } from "node:net";
import { expect, test } from "vitest";
import { findPortHolder, listeningInodes } from "./ports.ts";

test("finds only listeners on this port", () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0000000000000000 100 0 0 10 0
   1: 0100007F:192B 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:C350 0100007F:192B 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0000000000000000 20 4 30 10 -1
`;
  expect(listeningInodes(table, 6443)).toEqual(["111"]);
  expect(listeningInodes(table, 50_000)).toEqual([]);
  expect(listeningInodes("", 6443)).toEqual([]);
});

test("finds this process", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  expect(await findPortHolder(port)).toContain(`pid ${process.pid} (`);
  await new Promise((closed) => server.close(closed));
  // Another program may have bound the port by now.
  expect((await findPortHolder(port)) ?? "").not.toContain(`pid ${process.pid} (`);
});
