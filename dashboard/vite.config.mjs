import { gzipSync } from "node:zlib";
import { defineConfig } from "vite";

// The page is served under a content security policy that allows nothing inline and nothing from elsewhere.
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
    // On a busy machine it would tell how long each part took.
    rolldownOptions: {
      checks: { bundlerTimings: false },
      input: {
        index: `${import.meta.dirname}/index.html`,
        login: `${import.meta.dirname}/src/style/login.css`,
      },
      output: {
        // The form for those who are not logged in names its stylesheet without knowing a hash.
        assetFileNames: ({ names }) =>
          names.includes("login.css") ? "login.css" : "assets/[name]-[hash][extname]",
      },
    },
  },
});

/** Puts a compressed copy beside each file that is worth it: the server sends what the browser takes. */
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
