import { execFile } from "node:child_process";
import { copyFile, cp, mkdir, readdir, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { commandFolder } from "./run-kindling.ts";

const run = promisify(execFile);

/** Packs the library of the current source as npm does, and unpacks it where a project's packages are. */
export async function installPackage(project: string): Promise<void> {
  const stage = join(project, "stage");
  const installed = join(project, "node_modules", "kindling");
  await Promise.all([mkdir(join(stage, "dist"), { recursive: true }), mkdir(installed, { recursive: true })]);
  await Promise.all([
    copyFile("package.json", join(stage, "package.json")),
    cp(await commandFolder(), join(stage, "dist"), { recursive: true }),
    run(process.execPath, ["scripts/build-types.mjs", join(stage, "dist/types")]),
  ]);
  await run("npm", ["pack", "--ignore-scripts", "--offline", "--silent"], { cwd: stage });
  const tarball = (await readdir(stage)).find((name) => name.endsWith(".tgz")) ?? "";
  await run("tar", ["-xzf", join(stage, tarball), "-C", installed, "--strip-components=1"]);
  // The one dependency that no bundle has in it.
  await symlink(resolve("node_modules/lmdb"), join(project, "node_modules/lmdb"));
}
