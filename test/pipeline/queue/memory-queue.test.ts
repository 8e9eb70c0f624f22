import { MemoryQueue } from '../../../src/pipeline/queue/memory-queue.ts';
import { describeQueue } from './queue-behaviour.ts';

describeQueue('MemoryQueue', options => Promise.resolve(new MemoryQueue(options)));
