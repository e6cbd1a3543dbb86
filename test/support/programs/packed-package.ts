import { execFile } from "node:child_process";
import { copyFile, cp, mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { commandFolder } from "./run-kindling.ts";

const run = promisify(execFile);

/** Packs the current source as npm does, and unpacks it where a project's packages are, with links to its commands. */
export async function installPackage(project: string, { types = true } = {}): Promise<void> {
  const stage = join(project, "stage");
  const installed = join(project, "node_modules", "kindling");
  await Promise.all([mkdir(join(stage, "dist"), { recursive: true }), mkdir(installed, { recursive: true })]);
  await Promise.all([
    copyFile("package.json", join(stage, "package.json")),
    cp(await commandFolder(), join(stage, "dist"), { recursive: true }),
    types && run(process.execPath, ["scripts/build-types.mjs", join(stage, "dist/types")]),
  ]);
  await run("npm", ["pack", "--ignore-scripts", "--offline", "--silent"], { cwd: stage });
  const tarball = (await readdir(stage)).find((name) => name.endsWith(".tgz")) ?? "";
  await run("tar", ["-xzf", join(stage, tarball), "-C", installed, "--strip-components=1"]);
  const links = join(project, "node_modules/.bin");
  await mkdir(links);
  const { bin }: { bin: Record<string, string> } = JSON.parse(
    await readFile(join(installed, "package.json"), "utf8"),
  );
  for (const [name, file] of Object.entries(bin)) await symlink(join("../kindling", file), join(links, name));
  // The one dependency that no bundle has in it.
  await symlink(resolve("node_modules/lmdb"), join(project, "node_modules/lmdb"));
}
