import { describe, expect, test } from "vitest";
import {
  containerAnnotations,
  containerLabels,
  readContainerAnnotations,
  sandboxLabels,
} from "./cri-labels.ts";
import { makePod, makePodWith } from "./make-pod.fixture.ts";

describe("labels", () => {
  test("a sandbox has the pod's labels, which cannot pose as another pod's", () => {
    const pod = makePod({}, { labels: { app: "web", "io.kubernetes.pod.uid": "somebody-else" } });
    expect(sandboxLabels(pod)).toEqual({
      app: "web",
      "io.kubernetes.pod.name": "web",
      "io.kubernetes.pod.namespace": "shop",
      "io.kubernetes.pod.uid": "u-1",
    });
  });

  test("a container is named by pod and container", () => {
    const { pod, container } = makePodWith({});
    expect(containerLabels(pod, container)).toEqual({
      "io.kubernetes.container.name": "c",
      "io.kubernetes.pod.name": "web",
      "io.kubernetes.pod.namespace": "shop",
      "io.kubernetes.pod.uid": "u-1",
    });
  });
});

describe("annotations of containers", () => {
  test("have upstream's keys", () => {
    const { pod, container } = makePodWith({});
    expect(containerAnnotations(pod, container, { attempt: 3, restartDelayMs: 0 })).toEqual({
      "io.kubernetes.container.hash": expect.stringMatching(/^[0-9a-f]{1,8}$/),
      "io.kubernetes.container.restartCount": "3",
      "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
      "io.kubernetes.container.terminationMessagePolicy": "File",
      "io.kubernetes.pod.terminationGracePeriod": "30",
    });
  });

  test("are read back as they were written", () => {
    const preStop = { exec: { command: ["sh", "-c", "sleep 1"] } };
    const ports = [{ containerPort: 80, name: "http", protocol: "TCP" }];
    const { pod, container } = makePodWith({ lifecycle: { preStop }, ports });
    pod.metadata.deletionGracePeriodSeconds = 5;
    const written = containerAnnotations(pod, container, { attempt: 1, restartDelayMs: 20_000 });
    expect(readContainerAnnotations(written)).toEqual({
      specHash: written["io.kubernetes.container.hash"],
      attempt: 1,
      restartDelayMs: 20_000,
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      graceSeconds: 5,
      preStop,
      ports,
    });
  });

  test.each([
    ["nothing at all", {}],
    [
      "nonsense",
      {
        "io.kubernetes.container.restartCount": "-1",
        "io.kubernetes.pod.terminationGracePeriod": "soon",
        "io.kubernetes.container.preStopHandler": "{",
        "io.kubernetes.container.ports": '["http"]',
      },
    ],
  ])("%s reads as not given", (_, annotations) => {
    expect(readContainerAnnotations(annotations)).toEqual({
      specHash: "",
      restartDelayMs: 0,
      terminationMessagePath: "",
      terminationMessagePolicy: "",
    });
  });
});
