import { expect, test } from "vitest";
import { createManualClock } from "../lib/manual-clock.ts";
import { createExecCredential, parseExecCredential } from "./exec-credential.ts";
import type { ExecPlugin } from "./kubeconfig.ts";

const apiVersion = "client.authentication.k8s.io/v1";
const plugin: ExecPlugin = { command: "login", args: [], env: {}, apiVersion, field: "user.exec" };
const print = (status: object) => JSON.stringify({ kind: "ExecCredential", apiVersion, status });

test("a plugin runs once for all that wait, and again before its credential expires", async () => {
  const clock = createManualClock(Date.parse("2030-01-01T00:00:00Z"));
  let runs = 0;
  const credential = createExecCredential(plugin, clock, async () => {
    runs++;
    const expirationTimestamp = new Date(clock.now() + 600_000).toISOString();
    return print({ token: `t${runs}`, expirationTimestamp });
  });
  const both = await Promise.all([credential(), credential()]);
  expect(both.map(({ token }) => token)).toEqual(["t1", "t1"]);
  await clock.advance(560_000);
  expect((await credential()).token).toBe("t1");
  await clock.advance(20_000);
  expect((await credential()).token).toBe("t2");
});

test("a plugin that failed is tried again", async () => {
  let runs = 0;
  const credential = createExecCredential(plugin, createManualClock(), async () => {
    if (runs++ === 0) throw new Error("user.exec: not logged in");
    return print({ token: "t" });
  });
  await expect(credential()).rejects.toThrow("not logged in");
  expect(await credential()).toEqual({ token: "t" });
});

test("a certificate is a credential too", () => {
  const status = { clientCertificateData: "CERT", clientKeyData: "KEY" };
  expect(parseExecCredential(print(status), plugin)).toEqual({ certificate: { cert: "CERT", key: "KEY" } });
});

test.each([
  ["no JSON", "secret", "user.exec: the program printed no JSON"],
  ["another kind", "{}", `user.exec: the program printed no ExecCredential of ${apiVersion}`],
  ["nothing", print({}), "user.exec: the program printed neither token nor certificate"],
])("%s is no credential", (_, text, message) => {
  expect(() => parseExecCredential(text, plugin)).toThrow(message);
});

test("a program that is missing is told with its hint, one that fails with its own words", async () => {
  const missing = { ...plugin, command: "no-such-program", installHint: "get it there" };
  await expect(createExecCredential(missing, createManualClock())()).rejects.toThrow(
    "user.exec: no-such-program is not installed\nget it there",
  );
  const failing = { ...plugin, command: "sh", args: ["-c", "echo who are you >&2; exit 3"] };
  await expect(createExecCredential(failing, createManualClock())()).rejects.toThrow(
    "user.exec: who are you",
  );
});

test("a program hears what is wanted of it, and its own environment", async () => {
  const script = `printf '%s' "{\\"kind\\":\\"ExecCredential\\",\\"apiVersion\\":\\"${apiVersion}\\",\\"status\\":{\\"token\\":\\"$WHO-$(echo $KUBERNETES_EXEC_INFO | grep -c ExecCredential)\\"}}"`;
  const own = { ...plugin, command: "sh", args: ["-c", script], env: { WHO: "me" } };
  expect(await createExecCredential(own, createManualClock())()).toEqual({ token: "me-1" });
});
