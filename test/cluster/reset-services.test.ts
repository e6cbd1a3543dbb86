import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startUp } from "../support/cluster/up-process.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { kindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const read = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: "utf8" });

describe.each([
  {
    backend: "nftables",
    tool: "nft",
    left: () => read("nft", "list", "tables").match(/kindling-[0-9a-f]{12}/g) ?? [],
  },
  {
    backend: "userspace",
    tool: "ip",
    left: () => read("ip", "-oneline", "address").match(/10\.96\.0\.\d+/g) ?? [],
  },
] as const)(
  "kindling reset after a killed cluster with the service proxy $backend",
  ({ backend, tool, left }) => {
    describeWithTool(tool, "where it works", () => {
      describeWithTool("runc", "with containers", () => {
        const folder = temporaryFolder();

        test("removes what made services reachable", async () => {
          const dataDir = join(folder, "cluster");
          const flags = ["--data-dir", dataDir, "--dashboard", "off", "--service-proxy", backend];
          const { kill } = await startUp(flags);
          await expect.poll(() => left().length).toBeGreaterThan(0);
          await kill("SIGKILL");
          expect(left().length).toBeGreaterThan(0);
          expect(await kindling("reset", "--data-dir", dataDir, "--yes")).toMatchObject({ code: 0 });
          expect(left()).toEqual([]);
        });
      });
    });
  },
);
