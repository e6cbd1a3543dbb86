import { expect, test } from "vitest";
import type { Container, PodSpec } from "../objects.ts";
import { makePod } from "./pod.fixture.ts";
import { podWarnings, templateWarnings } from "./pod-warnings.ts";

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
])("%j", (spec, expected) => {
  expect(podWarnings(makePod(spec))).toEqual(expected);
});

test("a name that is no hostname", () => {
  expect(podWarnings({ ...makePod(), metadata: { name: "a.b" } })).toEqual([
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
  ]);
});

test("a template is warned of below itself, once", () => {
  const env = [
    { name: "A", value: "1" },
    { name: "A", value: "2" },
  ];
  const template = { spec: { containers: [{ ...container, env }] } };
  expect(templateWarnings({ metadata: {}, spec: { template } })).toEqual([
    'spec.template.spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
  ]);
  expect(templateWarnings({ metadata: { resourceVersion: "1" }, spec: { template } })).toEqual([]);
});
