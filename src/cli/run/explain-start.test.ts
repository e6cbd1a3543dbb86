import { expect, test } from "vitest";
import { StoreError } from "../../store/store.ts";
import { explainStart } from "./explain-start.ts";

const explain = async (error: unknown, holder?: string) => {
  const explained = await explainStart(error, { dataDir: "/data", holderOf: async () => holder });
  return explained instanceof Error ? explained.message : explained;
};
const failed = (code: string, more: object = {}) =>
  Object.assign(new Error(`${code}: refused, open '/data/x'`), { code, ...more });
const listen = { syscall: "listen", address: "127.0.0.1", port: 6443 };

test.each([
  [
    failed("EADDRINUSE", listen),
    /^port 6443 of 127.0.0.1 is in use by pid 7 \(x\): stop it, or choose another port with --listen 127.0.0.1:PORT$/,
  ],
  [
    new Error("wrapped", { cause: failed("EADDRINUSE", { ...listen, address: "::1" }) }),
    /--listen \[::1\]:PORT$/,
  ],
  [failed("EADDRNOTAVAIL", listen), /^127.0.0.1 is not an address of this machine/],
  [failed("EACCES", { ...listen, port: 443 }), /may not listen on port 443: choose a port above 1023/],
  [failed("ENOTFOUND", { syscall: "getaddrinfo" }), /the host name of --listen cannot be resolved/],
  [failed("EACCES", { syscall: "open" }), /open '\/data\/x': run the command as the owner of these files/],
  [failed("EROFS", { syscall: "open" }), /choose a --data-dir on a writable file system/],
  [failed("ENOSPC", { syscall: "write" }), /^the disk of \/data is full: free some space and start again/],
  [
    new StoreError("noSpace", "no space left to open x"),
    /^the disk of \/data is full.*\(no space left to open x\)$/,
  ],
  [failed("EMFILE"), /ulimit -n/],
])("%s", async (error, says) => {
  expect(await explain(error, "pid 7 (x)")).toMatch(says);
});

test("an unknown holder is another process", async () => {
  expect(await explain(failed("EADDRINUSE", listen))).toContain("is in use by another process: stop it");
});

test.each([
  new Error("plain"),
  failed("ECONNREFUSED"),
  failed("EADDRINUSE", { address: "/run/x.sock" }),
  "text",
])("what needs no explanation stays itself: %s", async (error) => {
  expect(await explainStart(error, { dataDir: "/data", holderOf: async () => undefined })).toBe(error);
});
