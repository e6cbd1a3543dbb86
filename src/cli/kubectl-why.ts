#!/usr/bin/env node
import { runCli } from "./run-cli.ts";

process.exitCode = await runCli(["why", ...process.argv.slice(2)], "kubectl");
