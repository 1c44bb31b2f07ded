/** Where HTTP-01 challenges are, and paths there whose answers must repeat nothing of them. */
export const CHALLENGES = '/.well-known/acme-challenge/';

export const REFLECTING_PATHS: readonly string[] = [
  `${CHALLENGES}<script>REFLECTED</script>`,
  `${CHALLENGES}%3Cscript%3EREFLECTED`,
  `${CHALLENGES}REFLECTED.x`,
  `${CHALLENGES}REFLECTED%0d%0aset-cookie:%20a=b`,
  `${CHALLENGES}../acme-challenge/<b>REFLECTED`,
  `${CHALLENGES}%2e%2e/acme-challenge/<b>REFLECTED`,
  `/${CHALLENGES}<b>REFLECTED`,
  `${CHALLENGES}${'REFLECTED'.repeat(20)}`,
];
