import { describe, expect, test } from "vitest";
import type { ContainerStatus } from "../../api/meta/objects.ts";
import type { ObservedContainer } from "../model/observed-pod.ts";
import { exited, makePod, observe, observedContainer, running, statusBefore } from "./status.fixture.ts";
import { recoverProblems } from "./status-facts.ts";

describe("recoverProblems", () => {
  const problem = { reason: "CreateContainerConfigError", message: 'configmap "c" not found' };
  const image = "registry/web:1";
  const stuck = (more: Partial<ContainerStatus> = {}) =>
    statusBefore("web", { state: { waiting: problem }, image, ...more });

  test.each<[string, ContainerStatus, readonly ObservedContainer[], object | undefined]>([
    ["was never created", stuck(), [], problem],
    [
      "waits for a transient problem",
      stuck({ state: { waiting: { reason: "ErrImagePull" } } }),
      [],
      undefined,
    ],
    ["has another image now", stuck({ image: "WEB" }), [], undefined],
    ["runs", stuck(), [observedContainer("web", running, { id: "b" })], undefined],
    ["ran and ended meanwhile", stuck(), [observedContainer("web", exited(1), { id: "b" })], undefined],
    [
      "ended before it got stuck, unchanged",
      stuck({ containerID: "test://b", image: "sha256:1" }),
      [observedContainer("web", exited(1), { id: "b" })],
      problem,
    ],
    [
      "ended before it got stuck, and has been created since",
      stuck({ containerID: "test://b" }),
      [observedContainer("web", running, { id: "c" }), observedContainer("web", exited(1), { id: "b" })],
      undefined,
    ],
    [
      "ended before it got stuck, and was removed",
      stuck({ containerID: "test://b", image: "x" }),
      [],
      problem,
    ],
  ])("3815-9 the problem of a container that %s", (_, status, containers, expected) => {
    const recovered = recoverProblems({
      pod: makePod(),
      previous: { containerStatuses: [status] },
      observed: observe([...containers]),
    });
    expect(recovered.get("web")).toEqual(expected);
  });

  test("3815-9 includes init containers", () => {
    const pod = makePod({ spec: { initContainers: [{ name: "web", image }] } });
    const previous = { initContainerStatuses: [stuck()] };
    expect([...recoverProblems({ pod, previous, observed: undefined })]).toEqual([["web", problem]]);
  });

  test("a pod without a status has none", () => {
    expect(recoverProblems({ pod: makePod(), previous: undefined, observed: undefined }).size).toBe(0);
  });
});
