import { reads, writes } from '../tool.ts';
import type { SampleServer } from '../tool.ts';

export const LIBRARY: SampleServer = {
  name: 'library',
  description: 'loans, holds and the catalogue of the town library',
  instructions:
    'Members are known by the number on their card. A book is a title; a copy is the thing on the shelf.',
  words: {
    title: ['The Salt Road', 'A Year of Fog', 'Knots and Lines', 'Bread Before Dawn', 'The Quiet Engine'],
    author: ['Maren Oldeck', 'Tobias Vey', 'Ilse Harrow', 'Jon Kestrel'],
    branch: ['central', 'harbour', 'hill'],
    status: ['on the shelf', 'on loan', 'waiting for its reader', 'at the binder'],
    subject: ['seafaring', 'baking', 'local history', 'astronomy'],
    name: ['Una Feld', 'Peter Marsh', 'Lea Brandt'],
  },
  tools: [
    reads(
      'find_books',
      'Finds books by title, author or subject, with the shelf they stand on and how many copies are free.',
      {
        query: 'Words of the title, the author or the subject',
        'branch? central|harbour|hill': 'Only this branch',
        'limit? 1..50': 'Most books to give',
      },
      'books[] title, author, shelf, copies_free',
    ),
    reads(
      'get_book',
      'Everything known about one title: edition, languages, pages, subjects and reviews by readers.',
      { isbn: 'ISBN with or without dashes' },
      'title, author, page_count, published_on, subject',
    ),
    reads(
      'where_is_copy',
      'Says where a single copy is right now: shelf, loan, transfer van or binder.',
      { copy_id: 'Number on the barcode' },
      'copy_id, status, branch, since_on',
    ),
    reads(
      'list_my_loans',
      'Lists what a member has borrowed, with due dates and how often each loan was renewed.',
      { card_number: 'Number on the member card', 'overdue_only? yesno': 'Leave out what is not late' },
      'loans[] loan_id, title, due_on, renewal_count',
    ),
    writes(
      'renew_loan',
      'Extends a loan by three weeks unless somebody is waiting for the book.',
      { loan_id: 'The loan' },
      'loan_id, due_on, renewal_count',
    ),
    writes(
      'check_out_copy',
      'Lends a copy to a member at the desk.',
      { copy_id: 'Number on the barcode', card_number: 'Number on the member card' },
      'loan_id, title, due_on',
    ),
    writes(
      'check_in_copy',
      'Takes a returned copy back and says who is next in line for it.',
      { copy_id: 'Number on the barcode', 'damage?': 'What is torn, wet or missing' },
      'copy_id, status, next_reader_card',
    ),
    writes(
      'place_hold',
      'Reserves a title for a member, who is told when a copy has come back.',
      {
        card_number: 'Number on the member card',
        isbn: 'The title wanted',
        'pickup? central|harbour|hill': 'Branch to fetch it from',
      },
      'hold_id, place_in_line, ready_on',
    ),
    writes('cancel_hold', 'Gives up a reservation.', { hold_id: 'The reservation' }, 'hold_id, status'),
    reads(
      'list_holds',
      'Shows the waiting line of a title.',
      { isbn: 'The title' },
      'holds[] hold_id, card_number, place_in_line',
    ),
    reads(
      'get_member',
      'A member by card number: name, kind of membership, end date and unpaid fees.',
      { card_number: 'Number on the member card' },
      'card_number, name, expires_on, owed_eur',
    ),
    writes(
      'register_member',
      'Signs up a new reader and prints a card.',
      {
        name: 'Full name',
        born_on: 'Date of birth',
        'email?': 'For reminders',
        'kind? adult|child|student|group': 'Membership',
      },
      'card_number, name, expires_on',
    ),
    writes(
      'block_card',
      'Stops a lost or stolen library card from borrowing.',
      { card_number: 'Number on the card', 'reason?': 'Why' },
      'card_number, status',
    ),
    writes(
      'pay_fee',
      'Books the payment of late fees against a card.',
      { card_number: 'Number on the card', 'amount number': 'Euros received' },
      'receipt_id, owed_eur',
    ),
    writes(
      'waive_fee',
      'Forgives a late fee, with a reason for the books.',
      { card_number: 'Number on the card', reason: 'Why it is forgiven' },
      'card_number, owed_eur',
    ),
    reads(
      'opening_hours',
      'Opening hours of a branch on a date, holidays included.',
      { 'branch central|harbour|hill': 'Which branch', 'day? date': 'Today when left out' },
      'branch, opens_time, closes_time',
    ),
    reads(
      'suggest_next_read',
      'Recommends books from what a reader liked before.',
      { liked: 'A title or author the reader enjoyed', 'limit? 1..10': 'Most suggestions' },
      'books[] title, author, copies_free',
    ),
    writes(
      'suggest_purchase',
      'Passes on a wish that the library buys a title it does not have.',
      { title: 'The title', 'author?': 'Who wrote it', card_number: 'Who wishes' },
      'wish_id, status',
    ),
    reads(
      'new_arrivals',
      'Books, films and games that came in lately.',
      { 'since? date': 'Oldest day of arrival', 'kind? book|film|game|audiobook': 'Only this kind' },
      'items[] title, author, arrived_on',
    ),
    writes(
      'book_study_room',
      'Reserves a quiet room for reading or group work.',
      {
        'day date': 'When',
        'from time': 'Start',
        'hours 1..4': 'How long',
        'people? 1..12': 'How many will come',
      },
      'booking_id, room, from_time',
    ),
    reads(
      'free_study_rooms',
      'Which quiet rooms are free on a day.',
      { 'day date': 'When', 'branch? central|harbour|hill': 'Only this branch' },
      'rooms[] room, branch, free_from_time, seat_count',
    ),
    writes(
      'order_interlibrary_loan',
      'Asks another library for a book that is not in the catalogue here.',
      { title: 'The title', author: 'Who wrote it', card_number: 'For whom' },
      'request_id, expected_on, fee_eur',
    ),
    writes(
      'print_spine_label',
      'Prints a new label for a copy whose old one came off.',
      { copy_id: 'Number on the barcode' },
      'copy_id, shelf, status',
    ),
    reads(
      'loan_statistics',
      'How often titles of a subject were borrowed, month by month.',
      { subject: 'The subject', 'year? 2000..2100': 'Calendar year' },
      'months[] month, loan_count',
    ),
  ],
};
