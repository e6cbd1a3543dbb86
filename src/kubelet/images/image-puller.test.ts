import { status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import type { Container } from "../../api/meta/objects.ts";
import { defaultKubeletConfiguration } from "../config/kubelet-configuration.ts";
import { type FakeRuntime, grpc, settle, setUpPuller } from "./image-puller.fixture.ts";
import { applyDefaultTag } from "./image-puller.ts";

describe("pull policies", () => {
  const present = new Map([["app:1", "sha256:here"]]);
  const container = "spec.containers{web}";

  test.each<[string, Partial<Container>, string[]]>([
    [
      "present",
      { image: "app:1", imagePullPolicy: "IfNotPresent" },
      [`Normal Pulled Container image "app:1" already present on machine ${container}`],
    ],
    [
      "never, present",
      { image: "app:1", imagePullPolicy: "Never" },
      [`Normal Pulled Container image "app:1" already present on machine ${container}`],
    ],
    [
      "no policy, a tag that stays",
      { image: "app:1" },
      [`Normal Pulled Container image "app:1" already present on machine ${container}`],
    ],
    [
      "always",
      { image: "app:1", imagePullPolicy: "Always" },
      [
        `Normal Pulling Pulling image "app:1" ${container}`,
        `Normal Pulled Successfully pulled image "app:1" in 0s (0s including waiting). Image size: 1234 bytes. ${container}`,
      ],
    ],
    [
      "absent",
      { image: "app:2", imagePullPolicy: "IfNotPresent" },
      [
        `Normal Pulling Pulling image "app:2" ${container}`,
        `Normal Pulled Successfully pulled image "app:2" in 0s (0s including waiting). Image size: 0 bytes. ${container}`,
      ],
    ],
    [
      "no policy, latest",
      { image: "app" },
      [
        `Normal Pulling Pulling image "app" ${container}`,
        `Normal Pulled Successfully pulled image "app" in 0s (0s including waiting). Image size: 0 bytes. ${container}`,
      ],
    ],
  ])("%s", async (_name, spec, expected) => {
    const { ensure, events } = setUpPuller({ present });
    expect(await ensure(spec)).toMatch(/^sha256:/);
    expect(events).toEqual(expected);
  });

  test.each<[string, Partial<Container>, FakeRuntime, string, string]>([
    [
      "never, absent",
      { image: "app:2", imagePullPolicy: "Never" },
      { present },
      "ErrImageNeverPull",
      'ErrImageNeverPull: Container image "app:2" is not present with pull policy of Never',
    ],
    [
      "no name",
      { image: "a b" },
      {},
      "InspectFailed",
      'InvalidImageName: Failed to apply default image tag "a b": couldn\'t parse image reference "a b": invalid reference format',
    ],
    [
      "the runtime does not answer",
      { image: "app:1" },
      {
        inspect: () => {
          throw grpc(status.UNAVAILABLE, "gone");
        },
      },
      "InspectFailed",
      'ImageInspectError: Failed to inspect image "app:1": rpc error: code = Unavailable desc = gone',
    ],
  ])("%s", async (_name, spec, runtime, eventReason, expected) => {
    const { ensure, events, failure } = setUpPuller(runtime);
    expect(await failure(ensure(spec))).toBe(expected);
    const [reason = "", ...message] = expected.split(": ");
    expect(events).toEqual([
      `Warning ${eventReason} ${message.join(": ")} ${container}`,
      `Warning Failed Error: ${reason} ${container}`,
    ]);
  });

  test("events of an init container refer to its field", async () => {
    const { ensure, events } = setUpPuller();
    await ensure({}, { containers: [], initContainers: [{ name: "web", image: "app" }] });
    expect(events[0]).toBe('Normal Pulling Pulling image "app" spec.initContainers{web}');
  });

  test("sends the name with its tag, the pod's annotations and the runtime handler to the runtime", async () => {
    const { ensure, withProgress } = setUpPuller();
    await ensure();
    expect(withProgress[0]?.request).toMatchObject({
      image: { image: "app:latest", annotations: { a: "b" }, runtimeHandler: "" },
      auth: undefined,
      sandboxConfig: { metadata: { name: "pod", namespace: "default", uid: "uid-1" } },
    });
  });
});

describe("failures", () => {
  const notFound = () => {
    throw grpc(status.NOT_FOUND, "no app");
  };

  test("backs off, then retries", async () => {
    let broken = true;
    const { ensure, events, failure, clock } = setUpPuller({
      pull: () => (broken ? notFound() : "sha256:x"),
    });
    const error = "rpc error: code = NotFound desc = no app";
    expect(await failure(ensure())).toBe(`ErrImagePull: ${error}`);
    await clock.advance(9_999);
    expect(await failure(ensure())).toBe(
      `ImagePullBackOff: Back-off pulling image "app": ErrImagePull: ${error}`,
    );
    expect(events).toEqual([
      'Normal Pulling Pulling image "app" spec.containers{web}',
      `Warning Failed Failed to pull image "app": ${error} spec.containers{web}`,
      "Warning Failed Error: ErrImagePull spec.containers{web}",
      'Normal BackOff Back-off pulling image "app" spec.containers{web}',
      "Warning Failed Error: ImagePullBackOff spec.containers{web}",
    ]);
    await clock.advance(1);
    expect(await failure(ensure())).toBe(`ErrImagePull: ${error}`);
    await clock.advance(19_999);
    expect(await failure(ensure())).toMatch(/^ImagePullBackOff/);
    broken = false;
    await clock.advance(1);
    expect(await ensure()).toBe("sha256:x");
  });

  test("a deleted pod has no back-off", async () => {
    const { ensure, failure, puller } = setUpPuller({ pull: notFound });
    await failure(ensure());
    puller.forget("uid-1");
    expect(await failure(ensure())).toMatch(/^ErrImagePull/);
  });

  test.each([
    [
      "RegistryUnavailable: no route",
      "RegistryUnavailable: image pull failed for app because the registry is unavailable: no route",
    ],
    [
      "SignatureValidationFailed: by whom?",
      "SignatureValidationFailed: image pull failed for app because the signature validation failed: by whom?",
    ],
  ])("%s", async (details, expected) => {
    const { ensure, failure } = setUpPuller({
      pull: () => {
        throw grpc(status.UNKNOWN, details);
      },
    });
    expect(await failure(ensure())).toBe(expected);
    expect(await failure(ensure())).toBe(`ImagePullBackOff: Back-off pulling image "app": ${expected}`);
  });

  test("3542-10 a pull without progress fails with ErrImagePull and the reason", async () => {
    const { ensure, failure } = setUpPuller({
      pull: () => {
        throw grpc(status.DEADLINE_EXCEEDED, "pulling app: no progress, the registry sent nothing for 10 s");
      },
    });
    expect(await failure(ensure())).toMatch(/^ErrImagePull: .*no progress/);
  });

  test("an aborted pull records no event and causes no back-off", async () => {
    const { ensure, events, puller } = setUpPuller({
      pull: (_, attempt) => (attempt === 0 ? new Promise(() => {}) : "sha256:x"),
    });
    const stop = new AbortController();
    const pulling = ensure({}, {}, stop.signal);
    await settle();
    expect(puller.progress("uid-1")).toHaveLength(1);
    stop.abort(new Error("the pod ends"));
    await expect(pulling).rejects.toThrow("the pod ends");
    expect(puller.progress("uid-1")).toEqual([]);
    expect(events).toHaveLength(1);
    expect(await ensure()).toBe("sha256:x");
  });
});

describe("concurrent pulls", () => {
  const blocked = () => {
    const waiting: (() => void)[] = [];
    const pull = () => new Promise<string>((resolve) => waiting.push(() => resolve("sha256:x")));
    return { waiting, pull };
  };

  test.each([
    [{ serializeImagePulls: true }, 1],
    [{ serializeImagePulls: false, maxParallelImagePulls: 2 }, 2],
    [{ serializeImagePulls: false }, 4],
  ])("%j", async (pulls, expected) => {
    const { pull, waiting } = blocked();
    const { ensure, events, clock } = setUpPuller(
      { pull },
      { config: { ...defaultKubeletConfiguration, ...pulls } },
    );
    const all = [1, 2, 3, 4].map((n) => ensure({ image: `app:${n}` }));
    await settle();
    await settle();
    expect(waiting).toHaveLength(expected);
    // Waiting pulls have recorded their Pulling event.
    expect(events).toHaveLength(4);
    await clock.advance(1_500);
    for (let i = 0; i < 4; i++) {
      waiting[i]?.();
      await settle();
      await settle();
    }
    await Promise.all(all);
    const [last] = events.filter((event) => event.includes('pulled image "app:4"'));
    expect(last).toContain(expected === 4 ? "in 1.5s (1.5s including" : "in 0s (1.5s including");
  });
});

const digest = `sha256:${"ab".repeat(32)}`;

test.each([
  ["busybox", "busybox:latest"],
  ["busybox:1", "busybox:1"],
  ["127.0.0.1:5000/app", "127.0.0.1:5000/app:latest"],
  [`busybox@${digest}`, `busybox@${digest}`],
  ["docker.io/library/busybox", "docker.io/library/busybox:latest"],
])("sends %s to the runtime as %s", (image, asked) => {
  expect(applyDefaultTag(image)).toBe(asked);
});

test.each([
  ["a b", '"a b": invalid reference format'],
  ["BUSYBOX", '"BUSYBOX": invalid reference format: repository name must be lowercase'],
  // Quoted as in Go.
  ['a"\n', '"a\\"\\n": invalid reference format'],
])("rejects %j", (image, why) => {
  expect(() => applyDefaultTag(image)).toThrow(new Error(`couldn't parse image reference ${why}`));
});
