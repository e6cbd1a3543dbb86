#!/usr/bin/env node
import { completeForKubectl } from "./run-cli.ts";

process.stdout.write(await completeForKubectl(["why", ...process.argv.slice(2)]));
