import { execFile, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runsSlowTests, slowName } from "./support/fuzz/rounds.ts";
import { describeWithTool, toolPath } from "./support/programs/tools.ts";

const run = promisify(execFile);

/** The fenced blocks of one language. */
function blocks(markdown: string, language: string): string[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(
    ([, text = ""]) => text,
  );
}

const readme = await readFile("README.md", "utf8");
const lines = blocks(readme, "sh").flatMap((block) => block.trim().split("\n"));

test("has two lines: one that runs it, and one that tests it, which CI takes from here", async () => {
  expect(lines.filter((line) => /^npm ci && npx kindling up\b/.test(line))).toHaveLength(1);
  expect(lines.filter((line) => /^npm ci && npm test\b/.test(line))).toHaveLength(1);
  expect(await readFile(".ci/run", "utf8")).toContain("grep -m 1 -E '^npm ci && npm test' README.md");
});

/** Files of a fresh clone: those in git, and new files that are not ignored. */
async function checkOut(into: string): Promise<void> {
  const { stdout } = await run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    maxBuffer: 1 << 26,
  });
  for (const file of stdout.split("\0").filter(Boolean)) {
    await mkdir(dirname(join(into, file)), { recursive: true });
    // Files that are deleted but not committed are not in the clone either.
    await cp(file, join(into, file), { verbatimSymlinks: true }).catch((error) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
}

const isRoot = process.getuid?.() === 0;

const name = slowName("the line that runs it, in a clean checkout");
describe.skipIf(!isRoot || !runsSlowTests)(isRoot ? name : `${name} [needs root]`, () => {
  describeWithTool("ip", "in separate namespaces", () => {
    describeWithTool("kubectl", "and the printed next steps", () => {
      const timeout = 900_000;
      let folder: string;
      beforeAll(async () => {
        // Not in memory: an installation is large.
        folder = await mkdtemp(join(tmpdir(), "kindling-readme-"));
        await checkOut(join(folder, "checkout"));
      }, timeout);
      afterAll(() => rm(folder, { recursive: true, force: true }));

      test("works", { timeout }, async () => {
        const cwd = join(folder, "checkout");
        const line = lines.find((candidate) => candidate.startsWith("npm ci && npx kindling up")) ?? "";
        const [install = "", up = ""] = line.split(" && ");
        // What the tests were installed from is taken from npm's cache as far as it is there.
        await run("bash", ["-c", install], {
          cwd,
          env: { ...process.env, npm_config_prefer_offline: "true", NODE_ENV: "" },
          maxBuffer: 1 << 26,
        });

        const built = async () => (await stat(join(cwd, "dist/kindling.js"))).mtimeMs;
        const builtAt = await built();

        // A separate network, where the default port is free, and an empty home directory.
        const home = join(folder, "home");
        await mkdir(home);
        const env = { ...process.env, HOME: home };
        const child = spawn("unshare", ["--net", "bash", "-c", `ip link set lo up && ${up}`], {
          cwd,
          env,
          stdio: ["ignore", "pipe", "pipe"],
          detached: true,
        });
        const pid = child.pid ?? 0;
        const output = { stdout: "", stderr: "" };
        child.stdout.on("data", (chunk) => {
          output.stdout += chunk;
        });
        child.stderr.on("data", (chunk) => {
          output.stderr += chunk;
        });
        const ended = new Promise((resolve) => child.once("close", resolve));
        try {
          await expect
            .poll(() => [output.stdout, child.exitCode, output.stderr], { timeout: 120_000 })
            .toEqual([expect.stringMatching(/Ctrl-C stops the cluster.*\n/), null, expect.anything()]);
          expectShown(output.stdout, home);

          const next = output.stdout.split("\n").filter((shown) => shown.startsWith("  "));
          expect(next.join("\n")).toContain("kubectl");
          const path = [dirname(toolPath("kubectl")), process.env.PATH].join(delimiter);
          const inside = (script: string) =>
            run("nsenter", [`--net=/proc/${pid}/ns/net`, "bash", "-ec", script], {
              cwd,
              env: { ...env, PATH: path },
            });
          await inside(next.join("\n"));
          const nodes = async () => (await inside(`${next[0]}\nkubectl get nodes --no-headers`)).stdout;
          await expect.poll(nodes).toMatch(/^node-1 +Ready/);
        } finally {
          // As Ctrl-C does: to all of the terminal's processes.
          process.kill(-pid, "SIGINT");
          await ended;
        }
        const status = await run("npx", ["kindling", "status", "-o", "json"], { cwd, env }).catch(
          (error) => error,
        );
        // npx runs npm's prepare script again; the build is not repeated.
        expect(await built()).toBe(builtAt);
        expect(JSON.parse(status.stdout)).toMatchObject({
          state: "stopped",
          dataDir: join(home, ".kindling"),
        });
      });
    });
  });
});

/** The README's output of `up` matches the real output, except in parentheses and at an ellipsis. */
function expectShown(stdout: string, home: string): void {
  const shown = blocks(readme, "console").filter((block) => /^\$ .*kindling up$/m.test(block));
  for (const block of shown) {
    const wanted = block.split("\n").filter((line) => line.trim() && !line.startsWith("$"));
    for (const line of wanted) {
      const pattern = line.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      const loose = pattern
        .replace(/\\\(.*\\\)/, "\\(.*\\)")
        .replaceAll("…", ".*")
        .replaceAll("~", home)
        // Ports that are chosen freely.
        .replace(/(127\\\.0\\\.0\\\.1):(?!6443)\d+/, "$1:\\d+");
      expect(stdout).toMatch(new RegExp(`^${loose}$`, "m"));
    }
  }
}
