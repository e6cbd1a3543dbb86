import { gzipSync } from "node:zlib";
import { defineConfig } from "vite";

// The content security policy of the dashboard forbids inline code and external resources.
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  publicDir: false,
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [gzipped()],
  build: {
    outDir: "../dist/dashboard",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Suppresses timing output on busy machines.
    rolldownOptions: {
      checks: { bundlerTimings: false },
      input: {
        index: `${import.meta.dirname}/index.html`,
        login: `${import.meta.dirname}/src/style/login.css`,
      },
      output: {
        // The login page refers to its stylesheet without a hash.
        assetFileNames: ({ names }) =>
          names.includes("login.css") ? "login.css" : "assets/[name]-[hash][extname]",
      },
    },
  },
});

/** Writes a compressed copy beside each file that benefits from it. */
function gzipped() {
  return {
    name: "gzipped",
    enforce: "post",
    generateBundle(_options, bundle) {
      for (const [fileName, file] of Object.entries(bundle)) {
        const source = file.type === "chunk" ? file.code : file.source;
        if (source.length < 1_000) continue;
        this.emitFile({ type: "asset", fileName: `${fileName}.gz`, source: gzipSync(source, { level: 9 }) });
      }
    },
  };
}
