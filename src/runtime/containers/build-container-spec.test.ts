import { expect, test } from "vitest";
import { LinuxContainerResources, LinuxContainerSecurityContext } from "../../cri/generated/cri.ts";
import { linuxResources, processArgs, processEnv, securityOptions } from "./build-container-spec.ts";

const image = { entrypoint: ["/entry"], command: ["serve", "--all"] };

test.each([
  ["uses the image's entry point and command", { command: [], args: [] }, ["/entry", "serve", "--all"]],
  ["replaces the image's command by arguments", { command: [], args: ["once"] }, ["/entry", "once"]],
  ["ignores the image when there is a command", { command: ["/bin/sh"], args: [] }, ["/bin/sh"]],
  ["appends arguments to the command", { command: ["/bin/sh"], args: ["-c", "x"] }, ["/bin/sh", "-c", "x"]],
])("%s", (_name, config, args) => {
  expect(processArgs(config, image)).toEqual(args);
});

test("rejects a container without a command", () => {
  expect(() => processArgs({ command: [], args: [] }, { entrypoint: [], command: [] })).toThrow(
    /specifies a command/,
  );
});

test("the container's variables override the image's, which override HOSTNAME", () => {
  const envs = [
    { key: "A", value: Buffer.from("container") },
    { key: "C", value: Buffer.from("x=y") },
  ];
  expect(processEnv({ envs }, { env: ["A=image", "PATH=/bin"] }, "web-0")).toEqual([
    "HOSTNAME=web-0",
    "A=container",
    "PATH=/bin",
    "C=x=y",
  ]);
});

const asked = (part: Partial<LinuxContainerResources>) =>
  linuxResources(LinuxContainerResources.fromPartial(part));

test.each([
  ["nothing", {}, {}],
  ["omits limits that are zero", { cpuShares: 2n, cpusetCpus: "0" }, { cpuShares: 2, cpusetCpus: "0" }],
  [
    "keeps a huge page limit of zero",
    { hugepageLimits: [{ pageSize: "2MB", limit: 0n }] },
    { hugepageLimits: [{ pageSize: "2MB", limitBytes: 0 }] },
  ],
  ["passes cgroup v2 files", { unified: { "memory.high": "9" } }, { unified: { "memory.high": "9" } }],
])("%s", (_name, request, expected) => {
  expect(asked(request)).toEqual(expected);
});

test("rejects a page size that would change the file name", () => {
  const hugepageLimits = [{ pageSize: "2MB/../../memory", limit: 0n }];
  expect(() => asked({ hugepageLimits })).toThrow(/page_size .* is not like 2MB/);
});

const context = (part: Partial<LinuxContainerSecurityContext>) =>
  LinuxContainerSecurityContext.fromPartial(part);

test.each([
  ["without a security context", undefined, { masked: "/proc/kcore", readonly: "/proc/sys" }],
  ["with empty lists, which ask for an unmasked /proc", context({}), {}],
  ["with lists", context({ maskedPaths: ["/a"], readonlyPaths: ["/b"] }), { masked: "/a", readonly: "/b" }],
  ["when privileged", context({ privileged: true, maskedPaths: ["/a"], readonlyPaths: ["/b"] }), {}],
])("a request %s", (_name, request, { masked, readonly }: { masked?: string; readonly?: string }) => {
  const { maskedPaths, readonlyPaths } = securityOptions(request);
  expect(maskedPaths).toEqual(masked === undefined ? [] : expect.arrayContaining([masked]));
  expect(readonlyPaths).toEqual(readonly === undefined ? [] : expect.arrayContaining([readonly]));
});
