import { describe, expect, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { StartError } from "../model/start-error.ts";
import type { MountedVolumes } from "../volumes/pod-volumes.ts";
import { type PodActionDeps, type RunOptions, runPodActions } from "./run-pod-actions.ts";

/** A pod without a sandbox; what is done to get it one is written down in its order. */
function setUp(
  options: {
    sandbox?: () => Promise<void>;
    attempt?: number;
    warnings?: object[];
    signal?: AbortSignal;
  } = {},
) {
  const steps: string[] = [];
  let gathered: (() => void) | undefined;
  let finish = (_mounted: MountedVolumes) => {};
  let fail = (_error: Error) => {};
  const mounting = new Promise<MountedVolumes>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  const deps = {
    clock: createManualClock(),
    logger: silentLogger,
    recorder: {
      record: (_pod: unknown, { reason }: { reason: string }) => void steps.push(`event ${reason}`),
    },
    findRuntimeClass: () => undefined,
    prepareSandbox: async () => ({ config: {}, warnings: options.warnings ?? [] }),
    cri: {
      runtime: {
        async runPodSandbox() {
          steps.push("sandbox");
          await options.sandbox?.();
          return { podSandboxId: "s" };
        },
      },
    },
  } as unknown as PodActionDeps;
  const run: RunOptions = {
    pod: makePod(),
    observed: undefined,
    actions: [{ kind: "createSandbox", attempt: options.attempt ?? 0 }],
    reports: {
      sandboxProblem: (problem) => void steps.push(`problem ${problem?.reason}`),
      containerProblem: () => {},
      hookBegins: async () => {},
      hookEnded: async () => {},
      runtimeChanged: async (part) => void steps.push(`changed ${part?.sandboxId}`),
    },
    mountVolumes: (_signal, onGathered) => {
      gathered = onGathered;
      return mounting;
    },
    duringHook: (_containerId, hook) => hook(),
    signal: options.signal ?? new AbortController().signal,
  };
  const failed = new StartError("FailedMount", "no space left on device", { failures: ["no space left"] });
  return {
    steps,
    running: runPodActions(deps, run),
    gather: () => gathered?.(),
    mount: () => finish(new Map()),
    failMount: () => fail(failed),
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("sandbox and volumes", () => {
  test("creates the sandbox once the volumes' objects exist, in parallel with mounting", async () => {
    const { steps, running, gather, mount } = setUp();
    await settled();
    expect(steps).toEqual([]);
    gather();
    await settled();
    expect(steps).toEqual(["sandbox"]);
    mount();
    expect(await running).toBe(true);
    expect(steps).toEqual(["sandbox", "problem undefined", "changed s"]);
  });

  test("creates no sandbox while a volume is missing", async () => {
    const { steps, running, failMount } = setUp();
    failMount();
    expect(await running).toBe(false);
    expect(steps).toEqual(["problem FailedMount", "event FailedMount"]);
  });

  test("reports both the sandbox and a mount that failed in parallel", async () => {
    const { steps, running, gather, failMount } = setUp();
    gather();
    await settled();
    failMount();
    expect(await running).toBe(false);
    expect(steps).toEqual(["sandbox", "problem FailedMount", "event FailedMount", "changed s"]);
  });

  test("waits for the mount when the sandbox fails", async () => {
    const { steps, running, gather, mount } = setUp({
      sandbox: () => Promise.reject(new Error("no addresses")),
    });
    let ended = false;
    void running.then(() => {
      ended = true;
    });
    gather();
    await settled();
    expect(steps).toEqual(["sandbox", "problem FailedCreatePodSandBox", "event FailedCreatePodSandBox"]);
    expect(ended).toBe(false);
    mount();
    expect(await running).toBe(false);
  });

  test.each([
    { attempt: 0, events: ["event MissingClusterDNS"] },
    { attempt: 1, events: ["event SandboxChanged"] },
  ])("records warnings with the first sandbox only: attempt $attempt", async (given) => {
    const { steps, running, mount } = setUp({ ...given, warnings: [{ reason: "MissingClusterDNS" }] });
    mount();
    expect(await running).toBe(true);
    expect(steps.filter((step) => step.startsWith("event"))).toEqual(given.events);
  });

  test("records no warnings when the sandbox fails", async () => {
    const sandbox = () => Promise.reject(new Error("no addresses"));
    const { steps, running, mount } = setUp({ sandbox, warnings: [{ reason: "MissingClusterDNS" }] });
    mount();
    expect(await running).toBe(false);
    expect(steps).not.toContain("event MissingClusterDNS");
  });

  test("waits for the mount before it returns when the pod terminates", async () => {
    const stop = new AbortController();
    const sandbox = () =>
      new Promise<void>((_, reject) =>
        stop.signal.addEventListener("abort", () => reject(stop.signal.reason)),
      );
    const { running, gather, failMount } = setUp({ sandbox, signal: stop.signal });
    let ended = false;
    const over = running.catch((error: unknown) => {
      ended = true;
      return error;
    });
    gather();
    await settled();
    stop.abort(new Error("the pod ends"));
    await settled();
    expect(ended).toBe(false);
    failMount();
    expect(await over).toBe(stop.signal.reason);
  });
});
