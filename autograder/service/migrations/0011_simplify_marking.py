from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def delete_practice(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Delete marks given for practice; without their flag they would count as second opinions."""
    apps.get_model("service", "IndependentMark").objects.filter(calibration=True).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('service', '0010_chosen_attempts'),
    ]

    operations = [
        migrations.DeleteModel(
            name='Wording',
        ),
        migrations.RunPython(delete_practice, migrations.RunPython.noop),
        migrations.RemoveConstraint(
            model_name='independentmark',
            name='independent_mark',
        ),
        migrations.RemoveField(
            model_name='independentmark',
            name='calibration',
        ),
        migrations.AddConstraint(
            model_name='independentmark',
            constraint=models.UniqueConstraint(fields=('mark', 'account'), name='independent_mark'),
        ),
        migrations.RemoveField(
            model_name='markingplan',
            name='calibration',
        ),
    ]
