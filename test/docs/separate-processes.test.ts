import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { ownPort } from "../support/network/own-share.ts";
import { kindlingProgram } from "../support/programs/run-kindling.ts";
import { describeWithTool, toolPath } from "../support/programs/tools.ts";

const page = await readFile("docs/separate-processes.md", "utf8");
const commands = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = ""]) => text).join("");
const isRoot = process.getuid?.() === 0;
const title = "docs/separate-processes.md";

describe.skipIf(!isRoot)(isRoot ? title : `${title} [needs root]`, () => {
  const folder = temporaryFolder();

  describeWithTool("busybox", "with busybox", () => {
    describeWithTool("kubectl", "and kubectl", () => {
      test("its commands start a cluster whose logs, exec and volumes work", {
        timeout: 180_000,
      }, async () => {
        const [apiPort, kubeletPort] = [await ownPort(), await ownPort()];
        const script = `set -eu
cd ${folder}
kindling() { exec ${process.execPath} ${await kindlingProgram()} "$@"; }
run() { (kindling "$@"); }
trap 'kubectl delete pod hello --now >/dev/null 2>&1 || true; kill $(jobs -p); wait' EXIT
${commands
  // A command in the background is the process itself, so that the trap can end it.
  .replaceAll("\\\n", "")
  .replaceAll(/^kindling (?!.*&$)/gm, "run ")
  .replaceAll("6443", `${apiPort}`)
  .replaceAll("10250", `${kubeletPort}`)}`;
        const path = `${dirname(toolPath("kubectl"))}:${dirname(toolPath("busybox"))}:${process.env.PATH}`;
        const shell = spawn("bash", ["-c", script], { env: { ...process.env, PATH: path } });
        let stdout = "";
        let stderr = "";
        shell.stdout.on("data", (chunk) => {
          stdout += chunk;
        });
        shell.stderr.on("data", (chunk) => {
          stderr += chunk;
        });
        const [code] = await once(shell, "exit");
        expect(code, stderr.slice(-3_000)).toBe(0);
        expect(stdout).toContain("started\nkept\n");
      });
    });
  });
});
