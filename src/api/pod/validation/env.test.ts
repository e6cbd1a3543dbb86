import { describe, expect, test } from "vitest";
import type { Container } from "../../meta/objects.ts";
import { makePodWith, sentences } from "../pod.fixture.ts";
import { validatePod } from "./pod.ts";

type Env = NonNullable<Container["env"]>[number];

function check(container: Partial<Container>): string[] {
  return sentences(validatePod(makePodWith(container, { volumes: [{ name: "files" }] }))).map((sentence) =>
    sentence.replace("spec.containers[0].", ""),
  );
}

describe("valid variables", () => {
  test.each<Env>([
    { name: "A", value: "b" },
    { name: "1 strange name", value: "" },
    { name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.labels['example.com/a']" } } },
    { name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.annotations['Example.com/A']" } } },
    { name: "A", valueFrom: { fieldRef: { fieldPath: "status.podIPs" } } },
    { name: "A", valueFrom: { resourceFieldRef: { resource: "requests.memory", divisor: "1Mi" } } },
    { name: "A", valueFrom: { resourceFieldRef: { resource: "limits.hugepages-2Mi" } } },
    { name: "A", valueFrom: { configMapKeyRef: { name: "a", key: "b" } } },
    { name: "A", valueFrom: { secretKeyRef: { name: "a", key: "b", optional: true } } },
    { name: "A", valueFrom: { fileKeyRef: { key: "K", volumeName: "files", path: "env" } } },
  ])("%j", (variable) => {
    expect(check({ env: [variable] })).toEqual([]);
  });
});

describe("variables are checked", () => {
  test.each<[Env, string[]]>([
    [{ name: "" }, ["name: Required value"]],
    [
      { name: "a=b" },
      [
        "name: Invalid value: \"a=b\": a valid environment variable name must consist only of printable ASCII characters other than '='",
      ],
    ],
    [
      { name: "A", valueFrom: {} },
      [
        'valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ],
    ],
    [
      { name: "A", value: "b", valueFrom: { configMapKeyRef: { name: "a", key: "b" } } },
      ['valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
    ],
    [
      {
        name: "A",
        valueFrom: { configMapKeyRef: { name: "a", key: "b" }, secretKeyRef: { name: "a", key: "b" } },
      },
      ['valueFrom: Invalid value: "": may not have more than one field specified at a time'],
    ],
    [
      { name: "A", valueFrom: { configMapKeyRef: { name: "a", key: "" } } },
      ["valueFrom.configMapKeyRef.key: Required value"],
    ],
    [
      { name: "A", valueFrom: { secretKeyRef: { name: "a", key: ".." } } },
      ["valueFrom.secretKeyRef.key: Invalid value: \"..\": must not be '..'"],
    ],
    [
      { name: "A", valueFrom: { fieldRef: { fieldPath: "" } } },
      ["valueFrom.fieldRef.fieldPath: Required value"],
    ],
    [
      { name: "A", valueFrom: { fieldRef: { fieldPath: "spec.nope" } } },
      [
        'valueFrom.fieldRef.fieldPath: Invalid value: "spec.nope": error converting fieldPath: field label not supported: spec.nope',
      ],
    ],
    [
      { name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.labels" } } },
      [
        'valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
      ],
    ],
    [
      { name: "A", valueFrom: { fieldRef: { fieldPath: "spec.nodeName['a']" } } },
      [
        "valueFrom.fieldRef.fieldPath: Invalid value: \"spec.nodeName['a']\": error converting fieldPath: field label does not support subscript: spec.nodeName['a']",
      ],
    ],
    [
      { name: "A", valueFrom: { fieldRef: { apiVersion: "v2", fieldPath: "metadata.name" } } },
      [
        'valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2',
      ],
    ],
    [
      { name: "A", valueFrom: { resourceFieldRef: { resource: "limits.gpu" } } },
      [
        'valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"',
      ],
    ],
    [
      { name: "A", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "2" } } },
      [
        'valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
      ],
    ],
    [
      { name: "A", valueFrom: { fileKeyRef: { key: "K", volumeName: "nope", path: "../env" } } },
      [
        "valueFrom.fileKeyRef.path: Invalid value: \"../env\": must not contain '..'",
        'valueFrom.fileKeyRef.volumeName: Not found: "nope"',
      ],
    ],
  ])("%j", (variable, expected) => {
    expect(check({ env: [variable] })).toEqual(expected.map((sentence) => `env[0].${sentence}`));
  });
});

test.each<[NonNullable<Container["envFrom"]>[number], string[]]>([
  [{ prefix: "P_", configMapRef: { name: "a" } }, []],
  [{ secretRef: { name: "a", optional: true } }, []],
  [{}, ['envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`']],
  [
    { configMapRef: { name: "a" }, secretRef: { name: "a" } },
    ['envFrom: Invalid value: "": may not have more than one field specified at a time'],
  ],
  [{ configMapRef: {} }, ["envFrom[0].configMapRef.name: Required value"]],
])("envFrom %j", (source, expected) => {
  expect(check({ envFrom: [source] })).toEqual(expected);
});
