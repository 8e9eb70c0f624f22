-- Fills the MariaDB of the tests: users, tables in two engines, and a few seconds of work that moves every
-- group of status counters. Run with --force: some statements fail on purpose.

create user if not exists exporter@'127.0.0.1' identified by 'exporter-password';
grant process, replication client, replication slave, slave monitor, binlog monitor, select on *.*
  to exporter@'127.0.0.1';
create user if not exists replica@'127.0.0.1' identified by 'replica-password';
grant replication slave on *.* to replica@'127.0.0.1';
create database if not exists shop;
create database if not exists `odd "name" \\ here`;
create user if not exists app@'127.0.0.1' identified by 'app-password';
grant all on shop.* to app@'127.0.0.1';

-- The heartbeat that the exporter's collector of the same name reads.
create database if not exists heartbeat;
create table if not exists heartbeat.heartbeat (
  ts varchar(26) not null,
  server_id int unsigned not null primary key
);
replace into heartbeat.heartbeat values (now(6), @@server_id);

use shop;
create table if not exists customer (
  id int auto_increment primary key,
  name varchar(80),
  email varchar(120),
  key (email)
) engine = innodb;
create table if not exists purchase (
  id int auto_increment primary key,
  customer_id int,
  total decimal(10, 2),
  note text,
  key (customer_id),
  foreign key (customer_id) references customer (id)
) engine = innodb;
create table if not exists counter_sheet (id int primary key, word varchar(20)) engine = aria;
create table if not exists `odd "name" \\ here`.`tab	le` (id int primary key) engine = innodb;

insert into customer (name, email)
  select concat('name ', seq), concat('user', seq, '@example.test') from seq_1_to_500;
insert into purchase (customer_id, total, note)
  select 1 + (seq % 500), seq / 7, repeat('x', seq % 200) from seq_1_to_5000;
insert into `odd "name" \\ here`.`tab	le` select seq from seq_1_to_20;
update purchase set total = total + 1 where id % 10 = 0;
delete from purchase where id % 100 = 0;

-- Joins with and without an index, a sort, a temporary table on disk, a full scan.
select c.name, sum(p.total) spent from purchase p join customer c on c.id = p.customer_id
  group by c.id order by spent desc limit 3;
select count(*) from purchase a join purchase b on a.total = b.total where a.note like '%xx%';
select distinct note from purchase order by note desc limit 1;
select 'a "quoted" text with a \\ and a tab	in it', count(*) from `odd "name" \\ here`.`tab	le`;

-- For the slow log, whose threshold is 50 ms.
select sleep(0.06);
select /* two lines */ sleep(0.07),
  'second line';

-- A transaction over both engines, rolled back: the Aria row stays, which is a warning.
start transaction;
insert into counter_sheet values (1, 'kept');
insert into customer (name) values ('rolled back');
rollback;

-- Errors: duplicate key, unknown column, unknown table.
insert into counter_sheet values (1, 'again');
select nothing from customer;
select * from missing;

flush tables;
