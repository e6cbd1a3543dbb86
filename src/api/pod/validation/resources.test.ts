import { describe, expect, test } from "vitest";
import type { Container } from "../../meta/objects.ts";
import { makePodWith, sentences } from "../pod.fixture.ts";
import { validatePod } from "./pod.ts";

type Resources = NonNullable<Container["resources"]>;

function check(resources: Resources): string[] {
  const resourceClaims = [{ name: "gpu", resourceClaimName: "gpu" }];
  return sentences(validatePod(makePodWith({ resources }, { resourceClaims }))).map((sentence) =>
    sentence.replace("spec.containers[0].resources", ""),
  );
}

test.each<Resources>([
  {},
  { limits: { cpu: "1", memory: "1Gi" } },
  { requests: { cpu: "100m" }, limits: { cpu: "1" } },
  { limits: { cpu: "1", "hugepages-2Mi": "4Mi" } },
  { limits: { "example.com/device": "2" }, requests: { "example.com/device": "2" } },
  { claims: [{ name: "gpu" }] },
])("valid: %j", (resources) => {
  expect(check(resources)).toEqual([]);
});

describe("refused", () => {
  test.each<[Resources, string[]]>([
    [
      { limits: { cpu: "-1" } },
      [
        '.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        '.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
    [
      { requests: { cpu: "2" }, limits: { cpu: "1" } },
      ['.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ],
    [
      { requests: { pods: "1" } },
      ['.requests[pods]: Invalid value: "pods": must be a standard resource for containers'],
    ],
    [
      { requests: { nope: "1" } },
      [
        '.requests[nope]: Invalid value: "nope": must be a standard resource type or fully qualified',
        '.requests[nope]: Invalid value: "nope": must be a standard resource for containers',
      ],
    ],
    [
      { requests: { "example.com/device": "1" } },
      [".limits: Required value: Limit must be set for non overcommitable resources"],
    ],
    [
      { limits: { "example.com/device": "2" }, requests: { "example.com/device": "1" } },
      ['.requests: Invalid value: "1": must be equal to example.com/device limit of 2'],
    ],
    [
      { limits: { "example.com/device": "1500m" }, requests: { "example.com/device": "1500m" } },
      [
        '.limits[example.com/device]: Invalid value: "1500m": must be an integer',
        '.requests[example.com/device]: Invalid value: "1500m": must be an integer',
      ],
    ],
    [{ limits: { "hugepages-2Mi": "2Mi" } }, [": Forbidden: HugePages require cpu or memory"]],
    [
      { limits: { cpu: "1", "hugepages-2Mi": "3Mi" } },
      [
        '.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
        '.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
      ],
    ],
    [{ claims: [{ name: "gpu" }, { name: "gpu" }] }, ['.claims[1]: Duplicate value: "gpu"']],
    [
      { claims: [{ name: "other" }] },
      ['.claims[0]: Not found: "other": must be one of the names in pod.spec.resourceClaims: gpu'],
    ],
  ])("%j", (resources, expected) => {
    expect(check(resources)).toEqual(expected);
  });
});
