import { describe, expect, test } from "vitest";
import type { Container, Volume } from "../../meta/objects.ts";
import { makePodWith, sentences } from "../pod.fixture.ts";
import { validatePod } from "./pod.ts";

function check(source: Omit<Volume, "name">): string[] {
  const volumes = [{ name: "data", ...source }];
  return sentences(validatePod(makePodWith({}, { volumes, serviceAccountName: "default" })));
}

const claim = { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } };

describe("valid volumes", () => {
  test.each<Omit<Volume, "name">>([
    {},
    { emptyDir: { medium: "Memory", sizeLimit: "1Gi" } },
    { hostPath: { path: "/var/log", type: "DirectoryOrCreate" } },
    { configMap: { name: "a", items: [{ key: "k", path: "dir/file", mode: 0o400 }], optional: true } },
    { secret: { secretName: "a" } },
    { persistentVolumeClaim: { claimName: "a" } },
    { downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
    {
      downwardAPI: {
        items: [
          { path: "cpu", resourceFieldRef: { containerName: "web", resource: "limits.cpu", divisor: "1m" } },
        ],
      },
    },
    {
      projected: {
        sources: [
          { serviceAccountToken: { path: "token" } },
          { configMap: { name: "ca", items: [{ key: "a", path: "ca" }] } },
          { secret: { name: "s" } },
        ],
      },
    },
    { ephemeral: { volumeClaimTemplate: claim } },
    { image: { reference: "example.com/data:v1" } },
    { csi: { driver: "csi.example.com" } },
    { nfs: { server: "nfs", path: "/export" } },
  ])("%j", (source) => {
    expect(check(source)).toEqual([]);
  });
});

describe("sources are checked", () => {
  test.each<[Omit<Volume, "name">, string[]]>([
    [
      { emptyDir: {}, hostPath: { path: "/a" } },
      [".hostPath: Forbidden: may not specify more than 1 volume type"],
    ],
    [
      { emptyDir: { sizeLimit: "-1" } },
      [".emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
    ],
    [{ hostPath: { path: "" } }, [".hostPath.path: Required value"]],
    [
      { hostPath: { path: "/a/../b" } },
      [".hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"],
    ],
    [
      { hostPath: { path: "/a", type: "Dir" } },
      [
        '.hostPath.type: Unsupported value: "Dir": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
      ],
    ],
    [{ configMap: {} }, [".configMap.name: Required value"]],
    [
      { secret: { secretName: "a", defaultMode: 0o1000 } },
      [
        ".secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
      ],
    ],
    [
      {
        configMap: {
          name: "a",
          items: [
            { key: "", path: "/abs" },
            { key: "k", path: "..data" },
          ],
        },
      },
      [
        ".configMap.items[0].key: Required value",
        '.configMap.items[0].path: Invalid value: "/abs": must be a relative path',
        ".configMap.items[1].path: Invalid value: \"..data\": must not start with '..'",
      ],
    ],
    [{ persistentVolumeClaim: { claimName: "" } }, [".persistentVolumeClaim.claimName: Required value"]],
    [
      { downwardAPI: { items: [{ path: "a" }] } },
      [".downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"],
    ],
    [
      { downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "spec.nodeName" } }] } },
      [
        '.downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
      ],
    ],
    [
      { projected: { sources: [{ serviceAccountToken: { path: "a", expirationSeconds: 60 } }] } },
      [
        ".projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes",
      ],
    ],
    [
      {
        projected: {
          sources: [
            { secret: { name: "a", items: [{ key: "k", path: "same" }] } },
            { configMap: { name: "b", items: [{ key: "k", path: "same" }] } },
          ],
        },
      },
      ['.projected: Invalid value: "b": conflicting duplicate paths'],
    ],
    [{ ephemeral: {} }, [".ephemeral.volumeClaimTemplate: Required value"]],
    [
      { ephemeral: { volumeClaimTemplate: { metadata: { name: "x" }, spec: {} } } },
      [
        ".ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
        ".ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required",
        ".ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
      ],
    ],
    [{ image: {} }, [".image.reference: Required value"]],
    [
      { nfs: { server: "", path: "a" } },
      [".nfs.server: Required value", '.nfs.path: Invalid value: "a": must be an absolute path'],
    ],
    [
      { iscsi: { targetPortal: "p", iqn: "x", lun: 300 } },
      [
        '.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa',
        ".iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive",
      ],
    ],
  ])("%j", (source, expected) => {
    expect(check(source)).toEqual(expected.map((sentence) => `spec.volumes[0]${sentence}`));
  });

  test("names are unique, and an ephemeral claim must not have a name", () => {
    const volumes = [
      { name: "a", ephemeral: { volumeClaimTemplate: claim } },
      { name: "a", persistentVolumeClaim: { claimName: "web-a" } },
    ];
    expect(sentences(validatePod(makePodWith({}, { volumes })))).toEqual([
      'spec.volumes[1].name: Duplicate value: "a"',
      'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "web-a": must not reference a PVC that gets created for an ephemeral volume',
    ]);
  });
});

describe("mounts and devices", () => {
  const volumes: Volume[] = [{ name: "dir" }, { name: "disk", persistentVolumeClaim: { claimName: "c" } }];

  test.each<[Partial<Container>, string[]]>([
    [{ volumeMounts: [{ name: "dir", mountPath: "/a", subPath: "x" }] }, []],
    [{ volumeDevices: [{ name: "disk", devicePath: "/dev/x" }] }, []],
    [{ volumeMounts: [{ name: "nope", mountPath: "/a" }] }, ['volumeMounts[0].name: Not found: "nope"']],
    [{ volumeMounts: [{ name: "dir", mountPath: "" }] }, ["volumeMounts[0].mountPath: Required value"]],
    [
      {
        volumeMounts: [
          { name: "dir", mountPath: "/a" },
          { name: "disk", mountPath: "/a" },
        ],
      },
      ['volumeMounts[1].mountPath: Invalid value: "/a": must be unique'],
    ],
    [
      { volumeMounts: [{ name: "dir", mountPath: "/a", subPath: "../x" }] },
      ["volumeMounts.subPath: Invalid value: \"../x\": must not contain '..'"],
    ],
    [
      { volumeMounts: [{ name: "dir", mountPath: "/a", subPath: "x", subPathExpr: "y" }] },
      ['volumeMounts[0].subPathExpr: Invalid value: "y": subPathExpr and subPath are mutually exclusive'],
    ],
    [
      { volumeMounts: [{ name: "dir", mountPath: "/a", mountPropagation: "Bidirectional" }] },
      [
        "volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
      ],
    ],
    [
      {
        securityContext: { privileged: true },
        volumeMounts: [{ name: "dir", mountPath: "/a", mountPropagation: "Bidirectional" }],
      },
      [],
    ],
    [
      { volumeMounts: [{ name: "dir", mountPath: "/a", recursiveReadOnly: "Enabled" }] },
      ["volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true"],
    ],
    [
      { volumeDevices: [{ name: "dir", devicePath: "/dev/../x" }] },
      [
        'volumeDevices[0].name: Invalid value: "dir": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
        "volumeDevices[0].devicePath: Invalid value: \"/dev/../x\": can not contain backsteps ('..')",
      ],
    ],
    [
      {
        volumeMounts: [{ name: "disk", mountPath: "/a" }],
        volumeDevices: [{ name: "disk", devicePath: "/a" }],
      },
      [
        'volumeMounts[0].name: Invalid value: "disk": must not already exist in volumeDevices',
        'volumeMounts[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices',
        'volumeDevices[0].name: Invalid value: "disk": must not already exist in volumeMounts',
        'volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts',
      ],
    ],
  ])("%j", (container, expected) => {
    const found = sentences(validatePod(makePodWith(container, { volumes: structuredClone(volumes) })));
    expect(found).toEqual(expected.map((sentence) => `spec.containers[0].${sentence}`));
  });
});
