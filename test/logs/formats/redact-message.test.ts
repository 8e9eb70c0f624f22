// Redacts the SQL in a server's messages, and nothing else.

import { describe, expect, test } from 'vitest';
import { redactMessage } from '../../../src/logs/formats/redact-message.ts';

function check(text: string, want: string): void {
  expect(redactMessage(text)).toBe(want);
}

function checkSame(text: string): void {
  check(text, text);
}

test('a message does not change if it contains numbers, names and files', () => {
  checkSame("Aborted connection 41 to db: 'shop' user: 'app' host: '10.0.0.9' (Got timeout)");
  checkSame("Setting file './tmp1' size to 12.000MiB. Physically writing the file full");
  checkSame('Number of transaction pools: 1');
  checkSame("Access denied for user 'app'@'localhost' (using password: YES)");
  checkSame("SELECT command denied to user 'app'@'localhost' for table 't1'");
  checkSame("Update of '5' tables; selected 3; call 5 times; values 1 and 2; sets 7 of 9");
  checkSame('Server version: 11.4.5 source revision: 5843d84751\n(note: this may fail)');
});

describe('statements lose their literals', () => {
  test('wherever they begin in a message', () => {
    check(
      "error at SELECT * FROM t WHERE a = 'x' AND b = 5",
      'error at SELECT * FROM t WHERE a = ? AND b = ?',
    );
    check("insert into t values ('x', 5)", 'insert into t values (?, ?)');
    check('REPLACE LOW_PRIORITY INTO t VALUES (1)', 'REPLACE LOW_PRIORITY INTO t VALUES (?)');
    check("update shop.t set a='x'\n where id=12", 'update shop.t set a=?\n where id=?');
    check("delete from t where a='x'", 'delete from t where a=?');
    check("call shop.p('x', 5)", 'call shop.p(?, ?)');
    check("create user u identified by 'x'", 'create user u identified by ?');
    check("set password for u = 'x'", 'set password for u = ?');
    check("SET @a = 'x'", 'SET @a = ?');
    check("INSERT t VALUES ('x')", 'INSERT t VALUES (?)');
    check("replace low_priority shop.t set a='x'", 'replace low_priority shop.t set a=?');
    check("insert t set `first name` = 'x'", 'insert t set `first name` = ?');
    check('kill connection 75', 'kill connection ?');
  });

  test('after the words that announce one', () => {
    check(
      "Query (0x7f2f8c01): with a as (select 1) table a -- 'x'",
      'Query (0x7f2f8c01): with a as (select ?) table a -- ?',
    );
    check("Statement is unsafe. Statement: do f('x')", 'Statement is unsafe. Statement: do f(?)');
    check("[router] stmt: execute p using 'x'", '[router] stmt: execute p using ?');
    check(
      "conflict at seqno 10, SQL: optimize table t /* 'x' */",
      'conflict at seqno 10, SQL: optimize table t /* ? */',
    );
  });

  test('in a dump, up to its next part', () => {
    check(
      "thread id 65, query id 474 localhost 127.0.0.1 app Updating\nupdate t set a='x' where id=12\n*** WAITING FOR 2 LOCKS\nRECORD LOCKS space id 6 page no 5",
      'thread id 65, query id 474 localhost 127.0.0.1 app Updating\nupdate t set a=? where id=?\n*** WAITING FOR 2 LOCKS\nRECORD LOCKS space id 6 page no 5',
    );
    check(
      "Query (0x1): select 'a\n\nb', 5\n\nOptimizer switch: a=on\nx 5",
      'Query (0x1): select ?, ?\n\nOptimizer switch: a=on\nx 5',
    );
  });

  test('in a dump whose strings look like the next part', () => {
    check(
      "Query (0x1): select 'a\nOptimizer switch: x\n*** secret 1', 2\nStatus: 5",
      'Query (0x1): select ?, ?\nStatus: 5',
    );
  });

  test('in a dump, to the end if a string may still be open', () => {
    check("Query (0x1): select 'a\\' 'b\n--- 'c", 'Query (0x1): select ?');
  });

  test('several of them, each up to its own end', () => {
    check(
      "TRANSACTION 1, query id 4 h u x\nselect 1\n*** (2) TRANSACTION 2, query id 5 h u x\nselect 'b'\n*** WE ROLL BACK TRANSACTION (1)",
      'TRANSACTION 1, query id 4 h u x\nselect ?\n*** (2) TRANSACTION 2, query id 5 h u x\nselect ?\n*** WE ROLL BACK TRANSACTION (1)',
    );
  });
});

describe('values that messages quote are redacted', () => {
  test('of locked rows', () => {
    check(' 4: len 16; hex 7531; asc u1 ;; x;;', ' 4: len 16; hex ?; asc ?;;');
    check(' 1: SQL NULL;', ' 1: SQL NULL;');
    check(
      ' 0: len 4; hex 8000; asc     ;;\n 1: len 4; hex 8001; asc abcd;;',
      ' 0: len 4; hex ?; asc ?;;\n 1: len 4; hex ?; asc ?;;',
    );
  });

  test('of damaged tables', () => {
    check(
      'in index `mail` was not found on update: TUPLE (info_bits=0, 2 fields): {[3]u1}(0x75),[1] (0x8)} at: COMPACT RECORD(info_bits=0, 1 fields): {[2]u2(0x7532)}\nnext 5',
      'in index `mail` was not found on update: TUPLE (info_bits=?\nnext 5',
    );
    check(
      'Part: Page dump:\n len 16384; hex 7531; asc u1;',
      'Part: Page dump:\n len 16384; hex ?; asc ?;;',
    );
    const line = '2026-03-04  9:05:33 0 [Note] Part: ';
    check(line + '00c0ffee'.repeat(8), `${line}?`);
    checkSame(`${line}${'00c0ffee'.repeat(5)} is the checksum`);
    checkSame(`[Note] Part: sha256: ${'00c0ffee'.repeat(8)}`);
    checkSame('failed to insert row 5, set autocommit to 0');
  });

  test('of errors about values', () => {
    check(
      "Duplicate entry 'O'Brien-5' for key 'PRIMARY', Error_code: 1062",
      "Duplicate entry '?' for key 'PRIMARY', Error_code: 1062",
    );
    check(
      "Incorrect integer value: 'secret' for column `a`.`b` at row 1",
      "Incorrect integer value: '?' for column `a`.`b` at row 1",
    );
    check("Truncated incorrect DOUBLE value: '12abc'", "Truncated incorrect DOUBLE value: '?'");
    check(
      "right syntax to use near 'x 'y'\n z' at line 1",
      "right syntax to use near '?' at line 1",
    );
  });

  test('of statements that replication stopped at; the text after them stays', () => {
    check(
      "Error 'Duplicate entry '12' for key 'a'' on query. Default database: 'shop'. Query: 'insert into t values (12, 'a')', Gtid 0-1-5, Internal error code: 1062",
      "Error 'Duplicate entry '?' for key 'a'' on query. Default database: 'shop'. Query: 'insert into t values (?, ?)', Gtid 0-1-5, Internal error code: 1062",
    );
  });
});
