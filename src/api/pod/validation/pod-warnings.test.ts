import { expect, test } from "vitest";
import type { Container, PodSpec } from "../../meta/objects.ts";
import { makePod } from "../pod.fixture.ts";
import { namedTemplateWarnings, podWarnings, templateWarnings } from "./pod-warnings.ts";

const container: Container = { name: "web", image: "a" };

test.each<[Partial<PodSpec>, string[]]>([
  [{}, []],
  [
    {
      containers: [
        {
          ...container,
          env: [
            { name: "A", value: "1" },
            { name: "A", value: "2" },
          ],
        },
      ],
    },
    ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
  ],
  [
    {
      containers: [
        {
          ...container,
          env: [
            { name: "A", value: "1" },
            { name: "A", value: "$(A)/2" },
          ],
        },
      ],
    },
    [],
  ],
  [
    { containers: [{ ...container, ports: [{ containerPort: 80 }, { containerPort: 80 }] }] },
    ["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
  ],
  [
    { containers: [{ ...container, resources: { limits: { memory: "100m" } } }] },
    [
      'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
      'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
    ],
  ],
  [
    { nodeSelector: { "beta.kubernetes.io/os": "linux" } },
    ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
  ],
  [
    { imagePullSecrets: [{ name: "" }, { name: "a" }, { name: "a" }] },
    [
      'spec.imagePullSecrets[2].name: duplicate name "a"',
      'spec.imagePullSecrets[0].name: invalid empty name ""',
    ],
  ],
  [
    { volumes: [{ name: "v", storageos: {} }] },
    ["spec.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+"],
  ],
  [
    {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: "failure-domain.beta.kubernetes.io/zone",
          whenUnsatisfiable: "ScheduleAnyway",
        },
      ],
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "a" }],
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: "a" } },
          ],
        },
      },
    },
    [
      'spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
      "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
      "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod",
      "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod",
    ],
  ],
])("%j", (spec, expected) => {
  expect(podWarnings(makePod(spec))).toEqual(expected);
});

test("warns about annotations that fields replaced", () => {
  const annotations = { "container.seccomp.security.alpha.kubernetes.io/web": "localhost/x" };
  const pod = makePod({ containers: [container] });
  expect(podWarnings({ ...pod, metadata: { name: "web", annotations } })).toEqual([
    'metadata.annotations[container.seccomp.security.alpha.kubernetes.io/web]: non-functional in v1.27+; use the "seccompProfile" field instead',
  ]);
});

test("warns about a name that is not a DNS label", () => {
  expect(podWarnings({ ...makePod(), metadata: { name: "a.b" } })).toEqual([
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
  ]);
});

test("reports each warning of a template once, with its path", () => {
  const env = [
    { name: "A", value: "1" },
    { name: "A", value: "2" },
  ];
  const template = { spec: { containers: [{ ...container, env }] } };
  const set = { metadata: { generation: 2 }, spec: { template } };
  expect(templateWarnings(set, undefined)).toEqual([
    'spec.template.spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
  ]);
  expect(templateWarnings(set, { metadata: { generation: 1 } })).toHaveLength(1);
  expect(templateWarnings(set, { metadata: { generation: 2 } })).toEqual([]);
});

test("warns once about a name that is not a DNS label", () => {
  const named = { metadata: { name: "a.b", generation: 1 } };
  expect(namedTemplateWarnings(named)).toEqual([
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
  ]);
  expect(namedTemplateWarnings(named, undefined, named)).toEqual([]);
});
