// The known words of the backup API. Each deployment may have its own: the service decides which it takes, and keys of
// `backups` say what the program must know of them.

/** The types of backups that were seen on deployments. The specification names only the first. */
export const BACKUP_TYPES: readonly string[] = [
  'full',
  'incremental',
  'binarylog',
  'dump',
  'snapshot',
];
/** Those that restore by themselves. */
export const RESTORABLE_TYPES: readonly string[] = ['full', 'snapshot', 'dump'];
/** The tools that make a backup: a physical one and a logical one. */
export const RESTORE_METHODS: readonly string[] = ['enginebackup', 'enginedump'];
