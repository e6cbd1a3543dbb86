import { describe, expect, test } from "vitest";
import type { Container } from "../../api/objects.ts";
import { ContainerConfig, LinuxContainerConfig, Mount, Signal } from "../../cri/generated/cri.ts";
import { buildContainerConfig } from "./container-config.ts";
import { makePodWith } from "./make-pod.fixture.ts";

function build(container: Partial<Container> = {}) {
  return buildContainerConfig({
    ...makePodWith(container),
    attempt: 2,
    restartDelayMs: 20_000,
    imageRef: "sha256:1",
    environment: new Map([["NAME", Buffer.from("world")]]),
    mounts: [Mount.fromPartial({ containerPath: "/data", hostPath: "/v" })],
    linux: LinuxContainerConfig.fromPartial({}),
  });
}

describe("buildContainerConfig", () => {
  test("a plain container", () => {
    const config = build();
    expect(config).toMatchObject({
      metadata: { name: "c", attempt: 2 },
      image: { image: "sha256:1", userSpecifiedImage: "nginx:1.25" },
      command: [],
      args: [],
      workingDir: "",
      envs: [{ key: "NAME", value: Buffer.from("world") }],
      mounts: [{ containerPath: "/data" }],
      devices: [],
      labels: { "io.kubernetes.container.name": "c", "io.kubernetes.pod.uid": "u-1" },
      annotations: {
        "io.kubernetes.container.restartCount": "2",
        "kindling.container.restartDelayMs": "20000",
      },
      logPath: "c/2.log",
      stdin: false,
      stdinOnce: false,
      tty: false,
      stopSignal: Signal.SIGNAL_RUNTIME_DEFAULT,
    });
    const encoded = ContainerConfig.encode(config).finish();
    expect(ContainerConfig.decode(encoded).annotations).toEqual(config.annotations);
  });

  test("command and arguments are expanded", () => {
    const config = build({ command: ["echo", "$(NAME)"], args: ["$$(NAME)", "$(OTHER)", "hello $(NAME)"] });
    expect(config.command).toEqual(["echo", "world"]);
    expect(config.args).toEqual(["$(NAME)", "$(OTHER)", "hello world"]);
  });

  test("the rest is passed on", () => {
    const given = { workingDir: "/srv", stdin: true, stdinOnce: true, tty: true };
    expect(build(given)).toMatchObject(given);
  });

  test.each([
    ["SIGTERM", Signal.SIGNAL_SIGTERM],
    ["SIGRTMIN+3", Signal.SIGNAL_SIGRTMINPLUS3],
    ["SIGRTMAX-1", Signal.SIGNAL_SIGRTMAXMINUS1],
  ])("stop signal %s", (stopSignal, signal) => {
    expect(build({ lifecycle: { stopSignal } }).stopSignal).toBe(signal);
  });

  test("an unknown signal is refused", () => {
    expect(() => build({ lifecycle: { stopSignal: "SIGODD" } })).toThrow("SIGODD is not a signal");
  });
});
