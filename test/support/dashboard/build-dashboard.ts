import { build } from "vite";
import { temporaryFolder } from "../files/temporary-folder.ts";

/** The page as it is shipped, in a separate folder. */
export async function buildDashboard(): Promise<string> {
  const outDir = temporaryFolder();
  // Vite builds for development where it finds itself in a test.
  const environment = process.env.NODE_ENV;
  process.env.NODE_ENV = "production";
  try {
    await build({ configFile: "dashboard/vite.config.mjs", build: { outDir } });
  } finally {
    process.env.NODE_ENV = environment;
  }
  return outDir;
}
