#!/usr/bin/env node
import { setFlagsFromString } from "node:v8";
import { runCli } from "./run-cli.ts";

// The node agent mostly waits. Without the optimizing compilers it has 10 MB less, of their code and of what they compile. They
// have to be off before the command is loaded.
if (process.argv[2] === "node-agent")
  for (const flag of ["--no-opt", "--no-maglev", "--no-sparkplug"]) setFlagsFromString(flag);

process.exitCode = await runCli(process.argv.slice(2));
