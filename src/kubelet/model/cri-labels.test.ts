import { describe, expect, test } from "vitest";
import { makePod, makePodWith } from "../containers/make-pod.fixture.ts";
import { podOf } from "../pods/kill.fixture.ts";
import {
  containerAnnotations,
  containerFieldPath,
  containerLabels,
  hashContainer,
  readContainerAnnotations,
  sandboxLabels,
} from "./cri-labels.ts";

describe("cri-labels", () => {
  describe("labels", () => {
    test("labels of the pod cannot override the kubelet's", () => {
      const pod = makePod({}, { labels: { app: "web", "io.kubernetes.pod.uid": "another-pod" } });
      expect(sandboxLabels(pod)).toEqual({
        app: "web",
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "shop",
        "io.kubernetes.pod.uid": "u-1",
      });
    });

    test("labels of a container contain pod and container", () => {
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

    test("are read back unchanged", () => {
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
});

describe("container-hash", () => {
  describe("hashContainer", () => {
    test("equals upstream's hash", () => {
      // The sample and the value of upstream's own test.
      expect(hashContainer({ name: "test_container", image: "foo/image:v1" })).toBe("8e45cbd0");
    });

    test("depends only on name and image", () => {
      const container = { name: "web", image: "nginx:1" };
      expect(hashContainer({ ...container, ...{ command: ["sh"] } })).toBe(hashContainer(container));
      expect(hashContainer({ ...container, image: "nginx:2" })).not.toBe(hashContainer(container));
      expect(hashContainer({ ...container, name: "db" })).not.toBe(hashContainer(container));
      expect(hashContainer({ name: "web" })).not.toBe(hashContainer(container));
    });
  });
});

test("events refer to a container by its field path", () => {
  const pod = podOf({ containers: [{ name: "a" }], initContainers: [{ name: "b" }] });
  expect(containerFieldPath(pod, "a")).toBe("spec.containers{a}");
  expect(containerFieldPath(pod, "b")).toBe("spec.initContainers{b}");
});
