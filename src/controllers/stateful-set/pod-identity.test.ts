import { expect, test } from "vitest";
import { correctedPod, newPod, parsePodName } from "./pod-identity.ts";
import { makePod, makeSet, update } from "./stateful-set.fixture.ts";

test.each([
  ["web-0", { parent: "web", ordinal: 0 }],
  ["web-1-2", { parent: "web-1", ordinal: 2 }],
  ["web-0123", { parent: "web", ordinal: 123 }],
  ["web", undefined],
  ["web-", undefined],
  ["web-x", undefined],
  ["web-2147483647", { parent: "web", ordinal: 2147483647 }],
  ["web-2147483648", undefined],
])("%s", (name, expected) => {
  expect(parsePodName(name)).toEqual(expected);
});

test("replaces volumes of the template with those of claims of the same name", () => {
  const set = makeSet({ claims: true });
  const template = {
    ...update.template,
    spec: {
      containers: [],
      volumes: [
        { name: "data", emptyDir: {} },
        { name: "tmp", emptyDir: {} },
      ],
    },
  };
  expect(newPod(set, { name: "new", template }, 4).spec).toEqual({
    containers: [],
    hostname: "web-4",
    subdomain: "web",
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "data-web-4" } },
      { name: "tmp", emptyDir: {} },
    ],
  });
});

test("corrects a pod with a wrong label or volume", () => {
  const set = makeSet({ claims: true });
  const pod = makePod(set, "2 new ready");
  expect(correctedPod(set, pod)).toBeUndefined();
  const { "statefulset.kubernetes.io/pod-name": _, ...labels } = pod.metadata.labels ?? {};
  const unlabelled = { ...pod, metadata: { ...pod.metadata, labels } };
  expect(correctedPod(set, unlabelled)).toEqual(pod);
  const bare = { ...pod, spec: { containers: [] } };
  expect(correctedPod(set, bare)?.spec?.volumes).toEqual(pod.spec?.volumes);
});
