import { reads, writes } from '../tool.ts';
import type { SampleServer } from '../tool.ts';

export const VET: SampleServer = {
  name: 'vet',
  description: 'patients, appointments and medicines of the animal clinic',
  instructions:
    'Patients are animals; the person is the owner. Doses are by body weight and always checked by a vet.',
  words: {
    animal: ['Biscuit', 'Moss', 'Tilda', 'General'],
    species: ['dog', 'cat', 'goat', 'hen', 'rabbit'],
    owner: ['I. Marlow', 'T. Berg', 'the riding school'],
    status: ['waiting', 'in treatment', 'in the ward', 'gone home'],
    medicine: ['carprofen', 'amoxicillin', 'milbemycin', 'eye drops'],
    finding: ['nothing unusual', 'slight fever', 'tartar', 'overweight'],
  },
  tools: [
    reads(
      'find_patient',
      'Finds an animal by its name, owner or chip.',
      { query: 'Name, owner or chip number' },
      'patients[] patient_id, animal, species, owner',
    ),
    reads(
      'get_patient',
      'An animal’s card: age, weight, allergies, chip, owner.',
      { patient_id: 'The animal' },
      'patient_id, animal, species, weight_kg, born_on',
    ),
    writes(
      'register_patient',
      'Opens a card for an animal that is here for the first time.',
      {
        animal: 'Its name',
        'species dog|cat|rabbit|bird|horse|goat|other': 'What it is',
        owner: 'Full name',
        phone: 'Where to call',
        'born? date': 'If known',
      },
      'patient_id, animal',
    ),
    reads(
      'treatment_history',
      'Earlier visits of an animal, with findings and medicines.',
      { patient_id: 'The animal', 'since? date': 'First day' },
      'visits[] visit_id, seen_on, finding, medicine',
    ),
    reads(
      'free_appointments',
      'Free times with a vet.',
      {
        'day date': 'When',
        'reason? checkup|vaccination|surgery|teeth|emergency': 'Why, as it decides the length',
      },
      'times[] at_time, vet, length_minutes',
    ),
    writes(
      'make_appointment',
      'Books an animal in.',
      { patient_id: 'The animal', 'day date': 'When', 'at time': 'Time', reason: 'In a few words' },
      'appointment_id, vet, at_time',
    ),
    writes(
      'move_appointment',
      'Gives an appointment another time.',
      { appointment_id: 'The appointment', 'day date': 'New day', 'at time': 'New time' },
      'appointment_id, at_time',
    ),
    writes(
      'cancel_appointment',
      'Frees the time of an appointment that is not needed.',
      { appointment_id: 'The appointment' },
      'appointment_id, status',
    ),
    reads(
      'waiting_room',
      'Who sits in the waiting room and for how long.',
      {},
      'patients[] animal, species, waiting_minutes',
    ),
    writes(
      'check_in_patient',
      'Notes that an animal has arrived.',
      { appointment_id: 'The appointment', 'weight? number': 'Kilograms on the scale' },
      'appointment_id, place_in_line',
    ),
    writes(
      'write_visit_note',
      'Saves what the vet found and did.',
      { patient_id: 'The animal', finding: 'What was seen', plan: 'What comes next' },
      'visit_id, seen_on',
    ),
    writes(
      'record_weight',
      'Adds a weighing to an animal’s card.',
      { patient_id: 'The animal', 'kilos number': 'Weight' },
      'patient_id, weight_kg, change_percent',
    ),
    reads(
      'dose_for_weight',
      'Usual dose of a medicine for a species and weight. A vet has to confirm it.',
      {
        medicine: 'Active substance',
        'species dog|cat|rabbit|horse|goat': 'What it is',
        'kilos number': 'Body weight',
      },
      'medicine, dose_mg, times_daily_count',
    ),
    reads(
      'check_interactions',
      'Whether medicines may be given together.',
      { 'medicines list': 'Two or more' },
      'pairs[] medicine, is_safe, reason',
    ),
    writes(
      'prescribe',
      'Writes a prescription.',
      {
        patient_id: 'The animal',
        medicine: 'What',
        dose: 'How much and how often',
        'days 1..180': 'How long',
      },
      'prescription_id, medicine, ends_on',
    ),
    writes(
      'dispense_medicine',
      'Hands medicine from the cupboard out to an owner.',
      { prescription_id: 'The prescription' },
      'prescription_id, left_count, price_eur',
    ),
    reads(
      'medicine_stock',
      'What lies in the medicine cupboard and fridge, and when it expires.',
      { 'medicine?': 'Only this one', 'expiring_days? 1..365': 'Only what expires within' },
      'stock[] medicine, left_count, expires_on',
    ),
    reads(
      'vaccinations_due',
      'Animals whose jabs run out soon.',
      { 'within_days 1..365': 'How soon' },
      'patients[] patient_id, animal, owner, due_on',
    ),
    writes(
      'record_vaccination',
      'Enters a jab into the card and the pet passport.',
      { patient_id: 'The animal', vaccine: 'Against what', batch: 'Number on the vial' },
      'vaccination_id, next_due_on',
    ),
    writes(
      'send_reminder',
      'Reminds an owner of a jab, a check or a bill.',
      { patient_id: 'The animal', about: 'What of' },
      'reminder_id, sent_at',
    ),
    writes(
      'admit_to_ward',
      'Keeps an animal overnight.',
      { patient_id: 'The animal', reason: 'Why', 'cage?': 'Which one' },
      'stay_id, cage, status',
    ),
    reads(
      'ward_round',
      'Animals that stay in the ward, with feeding and medicine times.',
      {},
      'patients[] animal, cage, next_at, medicine',
    ),
    writes(
      'order_lab_test',
      'Sends blood, urine or a swab to the laboratory.',
      { patient_id: 'The animal', 'sample blood|urine|swab|stool': 'What', test: 'Which values' },
      'test_id, result_on',
    ),
    reads(
      'lab_result',
      'Values from the laboratory, with what is normal for the species.',
      { test_id: 'The test' },
      'values[] value, measured_number, normal_number',
    ),
  ],
};
