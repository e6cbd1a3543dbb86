#!/usr/bin/env node
import { completeForKubectl } from "./complete-for-kubectl.ts";

process.stdout.write(await completeForKubectl(process.argv.slice(2)));
