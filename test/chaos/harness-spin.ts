// Loaded into an agent before its own code (`node --import`), by tests that block its event loop: on
// SIGUSR2 the main thread computes for as long as the environment says, as a pathological page or a
// long collection of garbage would make it.

const spinMs = Number(process.env.CHAOS_SPIN_MS ?? 0);

process.on('SIGUSR2', () => {
  const end = performance.now() + spinMs;
  while (performance.now() < end);
});
