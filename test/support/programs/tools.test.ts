import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";

// Not in memory: containers mount /dev/shm with noexec.
const folder = mkdtempSync(join(tmpdir(), "kindling-tools-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** tools.ts as a test process loads it that has this kubectl on its PATH, and nothing else. */
async function loadWithKubectl(script: string | undefined) {
  vi.stubEnv("KINDLING_TEST_TOOLS", "path");
  vi.stubEnv("PATH", folder);
  if (script) writeFileSync(join(folder, "kubectl"), script, { mode: 0o755 });
  vi.resetModules();
  return import("./tools.ts");
}

afterEach(() => vi.unstubAllEnvs());

const printing = (version: string) => `#!/bin/sh\necho "Client Version: ${version}"\n`;

test("a tool without its companion cannot be used", async () => {
  const { hasTool } = await loadWithKubectl(undefined);
  writeFileSync(join(folder, "skopeo"), "", { mode: 0o755 });
  expect(hasTool("skopeo")).toBe(false);
  writeFileSync(join(folder, "umoci"), "", { mode: 0o755 });
  expect(hasTool("skopeo")).toBe(true);
});

test("without a kubectl on the PATH none is found, also if .tools has one", async () => {
  const { hasTool, toolVersion } = await loadWithKubectl(undefined);
  expect({ has: hasTool("kubectl"), version: toolVersion("kubectl") }).toEqual({
    has: false,
    version: undefined,
  });
  expect(hasTool("kubectl-older")).toBe(false);
});

describe("a kubectl on the PATH is asked for its version", () => {
  test.each([
    { kubectl: printing("v1.20.2"), version: "1.20.2", has: false, printsNamespace: false },
    { kubectl: printing("v1.32.4-dispatcher"), version: "1.32.4", has: true, printsNamespace: false },
    { kubectl: printing("v1.34.0"), version: "1.34.0", has: true, printsNamespace: true },
    { kubectl: printing("v1.100.0-alpha.1"), version: "1.100.0", has: true, printsNamespace: true },
    { kubectl: "#!/bin/sh\nexit 127\n", version: undefined, has: false, printsNamespace: false },
  ])("$version", async ({ kubectl, ...expected }) => {
    const { hasTool, isToolAtLeast, toolVersion } = await loadWithKubectl(kubectl);
    expect({
      version: toolVersion("kubectl"),
      has: hasTool("kubectl"),
      printsNamespace: isToolAtLeast("kubectl", "1.34"),
    }).toEqual(expected);
  });
});
