import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { untilAborted } from "../lib/abort.ts";
import { silentLogger } from "../lib/logger.ts";
import { connectCri } from "./cri-client.ts";
import { RuntimeServiceService, VersionResponse } from "./generated/cri.ts";
import { listenOnSocket } from "./listen-on-socket.ts";
import { type CallContext, serveCalls } from "./serve-call.ts";

test("close waits until cancelled calls have cleaned up", async () => {
  const directory = await mkdtemp(join(tmpdir(), "kindling-listen-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const listen = `unix://${join(directory, "cri.sock")}`;
  const steps: string[] = [];
  const started = new AbortController();
  const calls = {
    async version(_request: never, { signal }: CallContext) {
      started.abort();
      await untilAborted(signal);
      for (let turn = 0; turn < 100; turn++) await setImmediate();
      steps.push("cleaned up");
      return VersionResponse.fromPartial({});
    },
  };
  const toStatus = () => ({ code: 2, details: "" });
  const server = await listenOnSocket(listen, {
    runtime: serveCalls(RuntimeServiceService, calls, { logger: silentLogger, toStatus }),
    images: {},
  });
  const client = connectCri(listen);
  onTestFinished(() => client.close());
  const cancelled = expect(client.runtime.version({ version: "" })).rejects.toThrow();
  await untilAborted(started.signal);
  await server.close();
  steps.push("closed");
  await cancelled;
  expect(steps).toEqual(["cleaned up", "closed"]);
});
