// Closes a CI run with one line that says how many tests passed, failed and were skipped, and names the skipped.
export default class CountReporter {
  onTestRunEnd(modules) {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const skipped = [];
    let brokenModules = 0;
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const state = test.result().state;
        counts[state] = (counts[state] ?? 0) + 1;
        if (state === "skipped") skipped.push(test.fullName);
      }
      // A file that fails to load has no tests to fail; count the file itself.
      if (module.state() === "failed" && [...module.children.allTests("failed")].length === 0)
        brokenModules++;
    }
    for (const name of skipped) console.log(`skipped: ${name}`);
    console.log(
      `${counts.passed} passed, ${counts.failed + brokenModules} failed, ${counts.skipped} skipped`,
    );
  }
}
