#!/usr/bin/env node
import { completeForKubectl } from "./run-cli.ts";

process.stdout.write(await completeForKubectl(process.argv.slice(2)));
